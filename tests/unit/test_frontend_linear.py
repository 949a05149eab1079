"""The front end takes a number of steps in proportion to the program, errors included."""

import gc
import sys
from collections.abc import Callable
from types import FrameType

import pytest

from kina.errors import KinaError
from kina.frontend import report
from kina.frontend.check import check
from kina.frontend.source import Source

T = "tensor<F32, [2]>"
HEAD = f"let f = fn(x: {T}) -> {T} {{"

PROGRAMS: dict[str, Callable[[int], str]] = {
    "functions": lambda n: "\n".join(f"let f{i} = fn(x: {T}) -> {T} {{ x }}" for i in range(n)),
    "calls": lambda n: (
        HEAD + "x }\n" + "\n".join(f"let g{i} = fn(x: {T}) -> {T} {{ f(x) }}" for i in range(n))
    ),
    "bindings": lambda n: HEAD + "\n".join(f"let a{i} = x + x in" for i in range(n)) + " x }",
    "additions": lambda n: HEAD + " + ".join(["x"] * n) + " }",
    "numbers": lambda n: HEAD + "x" + " * 0.999" * n + " }",
    "methods": lambda n: HEAD + "x" + ".exp()" * n + " }",
    "reverse modes": lambda n: (
        HEAD + "x }" + "".join(f"\nlet d{i} = reverseMode(f)" for i in range(n))
    ),
    "too many arguments": lambda n: HEAD + "exp(" + ", ".join(["x"] * n) + ") }",
    "unknown arguments": lambda n: HEAD + "exp(" + ", ".join(f"y{i}=x" for i in range(n)) + ") }",
    "unknown names": lambda n: HEAD + "\n".join(f"let a{i} = y{i} in" for i in range(n)) + " x }",
    "negations": lambda n: HEAD + "-" * n + "x }",
    "strange characters": lambda n: HEAD + "$ " * n + "x }",
    "unknown functions": lambda n: (
        "\n".join(f"let f{i} = fn(x: {T}) -> {T} {{ g(x) }}" for i in range(n))
    ),
    "wrong statements": lambda n: HEAD + "\n".join(f"let a{i} = + in" for i in range(n)) + " x }",
}  # fmt: skip


def steps(text: str) -> int:
    """How many calls, of Python and of C, checking takes."""
    count = 0

    def counted(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event.endswith("call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        check(Source("t.kina", text))
    except KinaError:
        pass
    finally:
        sys.setprofile(before)
    return count


def _nothing_close(_word: str, _candidates: dict[str, str], **_options: object) -> list[str]:
    return []


@pytest.mark.parametrize("kind", PROGRAMS)
def test_twice_the_program_takes_twice_the_steps(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Past the errors that are shown: finding the help for those has a bound of its own."""
    monkeypatch.setattr(report, "get_close_matches", _nothing_close)
    first, second, third = (steps(PROGRAMS[kind](n)) for n in (600, 1200, 1800))
    assert third - second < 1.1 * (second - first)


@pytest.mark.parametrize(
    ("kind", "most"), [("numbers", 140), ("additions", 80), ("bindings", 190), ("functions", 560)]
)
def test_a_program_of_the_greatest_size_takes_seconds(kind: str, most: int) -> None:
    """In calls for each operand, binding or function: 300,000 operands are a program of 4 MB."""
    assert steps(PROGRAMS[kind](2000)) - steps(PROGRAMS[kind](1000)) < 1000 * most


def test_help_is_sought_for_shown_errors_only(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def close(_word: str, candidates: dict[str, str], **_options: object) -> list[str]:
        asked.append(len(candidates))
        return []

    monkeypatch.setattr(report, "get_close_matches", close)
    steps(PROGRAMS["unknown names"](2000))
    assert len(asked) == report.MAX_ERRORS
    assert max(asked) <= 1000


def test_checking_leaves_the_garbage_collector_as_it_was() -> None:
    before = gc.get_threshold()
    steps("wrong")
    assert gc.isenabled()
    assert gc.get_threshold() == before
    gc.set_threshold(0)
    try:
        steps("wrong")
        assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*before)
