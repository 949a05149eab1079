"""Prefetches of the next row, put into LLVM IR."""

from __future__ import annotations

import re

import pytest

from kina.backend.prefetch import fetch_next_rows
from kina.backend.stages import emit
from kina.frontend.source import Source

KERNEL = """define void @kernel(i64 %0, ptr %1) #0 {
  %3 = insertvalue { ptr, ptr, i64 } poison, ptr %1, 0
  %4 = insertvalue { ptr, ptr, i64 } %3, ptr %1, 1
  %5 = insertvalue { ptr, ptr, i64 } %4, i64 0, 2
  %6 = alloca float, i64 64, align 64
  %7 = load <64 x float>, ptr %6, align 4
  %8 = load <64 x float>, ptr %6, align 4
  %9 = extractvalue { ptr, ptr, i64 } %5, 1
  %10 = getelementptr float, ptr %9, i64 64
  %11 = load <64 x KIND>, ptr %10, align 4
  %12 = getelementptr float, ptr %9, i64 128
  %13 = load <64 x KIND>, ptr %12, align 4
  %14 = load <64 x KIND>, ptr %12, align 4
  ret void
}
"""
PROGRAM = "let f = fn(x: tensor<F32, [8, {0}]>) -> tensor<F32, [8, {0}]> {{ x.softmax(axis=1) }}"
ASKS = 'attributes #0 = { "kina-next-row"="1:DISTANCE" }\n'


def prefetched(kind: str, distance: str) -> list[str]:
    """The lines put in, without indentation."""
    text = (KERNEL + ASKS).replace("KIND", kind).replace("DISTANCE", distance)
    old = set(text.splitlines())
    lines = fetch_next_rows(text).splitlines()
    at = next(i for i, line in enumerate(lines) if line not in old)
    assert lines[at - 1].startswith("  %13 = load")
    return [line.strip() for line in lines if line and line not in old][:-1]


def test_only_the_second_walk_of_the_argument_fetches() -> None:
    first, *rest = prefetched("float", "50257")
    assert first.endswith(" = getelementptr float, ptr %12, i64 50257")
    offsets = [re.findall(r"i64 (\d+)$", line) for line in rest[::2]]
    assert offsets == [["0"], ["64"], ["128"], ["192"]]
    assert all("call void @llvm.prefetch.p0(" in line for line in rest[1::2])


def test_the_distance_may_be_an_argument() -> None:
    first, *rest = prefetched("bfloat", "%0")
    assert first.endswith(" = getelementptr bfloat, ptr %12, i64 %0")
    assert len(rest) == 4  # two cache lines


def test_what_is_walked_once_is_fetched_ahead() -> None:
    """With the first load of the argument, not with those of the stack."""
    asked = 'attributes #0 = { "kina-ahead"="1:2048" }\n'
    lines = fetch_next_rows(KERNEL.replace("KIND", "float") + asked).splitlines()
    fetches = [i for i, line in enumerate(lines) if "call void @llvm.prefetch" in line]
    assert len(fetches) == 4
    first = fetches[0] - 2
    assert lines[first].endswith(" = getelementptr float, ptr %10, i64 2048")
    assert lines[first - 1].startswith("  %11 = load")


def test_other_functions_stay() -> None:
    assert fetch_next_rows(KERNEL) == KERNEL


@pytest.mark.parametrize(("distance", "locality"), [("512", 3), ("50257", 2), ("%0", 2)])
def test_short_rows_go_into_the_first_level_cache(distance: str, locality: int) -> None:
    _, *rest = prefetched("float", distance)
    assert all(line.endswith(f", i32 0, i32 {locality}, i32 1)") for line in rest[1::2])


@pytest.mark.parametrize("distance", ["1024", "402056", "%0"])
def test_the_next_steps_of_a_band_go_into_the_first_level_cache(distance: str) -> None:
    text = KERNEL.replace("KIND", "float") + ASKS.replace("next-row", "next-steps")
    found = re.findall(
        r"call void @llvm.prefetch.*", fetch_next_rows(text.replace("DISTANCE", distance))
    )
    assert len(found) == 4
    assert all(line.endswith(", i32 0, i32 3, i32 1)") for line in found)


@pytest.mark.parametrize(("row", "distance"), [(64, None), (200, 600), (512, 512), (1000, 1000)])
def test_what_is_fetched_lies_far_enough(row: int, distance: int | None) -> None:
    source = Source("t.kina", PROGRAM.format(row))
    found = re.findall(r'"kina-next-row", "\d+:(\d+)"', emit(source, "schedule"))
    assert found == ([] if distance is None else [str(distance)])
