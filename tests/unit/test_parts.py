"""Programs of many functions go through the tools in parts, side by side."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

import kina
from kina.backend.lowering import Lowering, lower
from kina.backend.options import Options
from kina.backend.targets import FAT, host_machine
from kina.frontend.check import check
from kina.frontend.source import Source
from kina.frontend.typed import TypedProgram

COUNT = 12


def text(count: int = COUNT) -> str:
    """Functions that call the one before them: the last ones are long."""
    lines = ["let f0 = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> { x }"]
    lines += [
        f"let f{i} = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> {{ f{i - 1}(x) + {i}.0 }}"
        for i in range(1, count)
    ]
    return "\n".join(lines)


@pytest.fixture(scope="module")
def program() -> TypedProgram:
    return check(Source("many.kina", text()))


def test_each_function_is_in_one_part(program: TypedProgram) -> None:
    parts = list(Lowering(program, 8).parts(Options()))
    names = [[function.name for function in part.functions] for part in parts]
    assert len(parts) > 2
    assert [name for here in names for name in here] == [f"f{i}" for i in range(COUNT)]
    for part, here in zip(parts, names, strict=True):
        defined = {f"f{i}" for i in range(COUNT) if f'sym_name = "kina_f{i}"' in part.code}
        assert defined == set(here)


def test_a_small_program_is_one_part(program: TypedProgram) -> None:
    (part,) = Lowering(check(Source("one.kina", text(1)))).parts(Options())
    assert [function.name for function in part.functions] == ["f0"]
    assert len(lower(program, Options()).functions) == COUNT


def test_targets_differ_before_llvm_where_instructions_are_missing() -> None:
    """What lacks exact instructions is lowered on its own; all others have one code."""
    text = "let f = fn(x: tensor<F16, [N, 8]>) -> tensor<F16, [N, 8]> { x * x - x.log() }"
    program = check(Source("different.kina", text))
    old, *others = [lower(program, Options(f"x86-64-v{level}")).code for level in (2, 3, 4)]
    assert others[0] == others[1] != old


@pytest.mark.parametrize(
    ("target", "cores"),
    [
        ("native", 3),
        ("x86-64", 1),
        pytest.param("native", 1, marks=pytest.mark.sweep),
        pytest.param("x86-64", 3, marks=pytest.mark.sweep),
    ],
)
def test_parts_make_one_library(
    target: str, cores: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where one core does all of it: nothing waits for what stands behind it."""
    if target in FAT and host_machine() != "x86_64":
        pytest.skip("this machine is not x86-64")
    monkeypatch.setenv("KINA_CACHE", str(tmp_path))
    monkeypatch.setattr(os, "cpu_count", lambda: cores)
    module = kina.compile(text(16), target=target)
    assert len(list(Lowering(check(Source("16", text(16)))).parts(Options()))) > 1
    assert list(module) == [f"f{i}" for i in range(16)]
    x = np.ones(3, np.float32)
    for i, name in enumerate(module):
        np.testing.assert_array_equal(module[name](x), x + i * (i + 1) / 2)
