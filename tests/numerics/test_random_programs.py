"""Random well-typed programs: compiled against oracles and reference, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

import kina
from helpers.check_program import all_values, check_function, source
from helpers.choose import Chooser, Drawn, Seeded
from helpers.expect import same_bits
from helpers.programs import Function, generate
from helpers.same import as_tuple
from kina.ops import OPS, Family

# A random literal may become a rounder one.
pytestmark = pytest.mark.filterwarnings("ignore::kina.KinaWarning")

FUNCTIONS = 5
SUMMING = (Family.NORMALIZE, Family.FIBER)
"""Families whose operations sum along an axis."""
"""Per module: a library costs far more to build than one more function in it."""

TARGETS = ("native", "x86-64-v2", "x86-64-v3")
"""v2 has no fused multiply-add and no conversions of 16-bit floats."""


def functions_of(choose: Chooser, count: int) -> list[Function]:
    functions: list[Function] = []
    for position in range(count):
        functions.append(generate(choose, f"f{position}", functions[-6:]))
    return functions


@st.composite
def programs(draw: DrawFn) -> list[Function]:
    return functions_of(Drawn(draw), draw(st.integers(1, FUNCTIONS)))


def check_program(functions: list[Function], seeds: int) -> None:
    text = source(functions)
    try:
        module = kina.compile(text)
        for function in functions:
            for seed in range(seeds):
                check_function(module, function, seed)
    except Exception as error:
        error.add_note(text)
        raise


@settings(
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=5,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(programs())
def test_programs_of_hypothesis(functions: list[Function]) -> None:
    check_program(functions, seeds=2)


@pytest.mark.parametrize("seed", range(5))
def test_a_seeded_sample_of_programs(seed: int) -> None:
    check_program(functions_of(Seeded(seed), FUNCTIONS), seeds=2)


def free_of_order(function: Function) -> Iterator[int]:
    """What no float sum, nor a call, stands behind: the order of additions cannot show."""
    good = set(function.parameters) | {-1}
    for step in function.steps:
        kind = dict(step.case.attributes).get("op") if step.case else None
        summed = kind in ("sum", "mean") and step.case.types[0].dtype.is_float
        soft = step.case is not None and OPS[step.case.op].family in SUMMING
        if step.callee is None and not summed and not soft and good.issuperset(step.operands):
            good.update(step.results)
            yield from step.results


def check_pipelines(functions: list[Function], seeds: int) -> None:
    """Fast code and plain loops give the same bits."""
    text = source(functions)
    fast, plain = kina.compile(text, fast=True), kina.compile(text, fast=False)
    for function in functions:
        everything = f"{function.name}_all"
        for seed in range(seeds):
            arrays = function.inputs(seed)
            got = all_values(function, arrays, fast[everything](*arrays))
            wanted = all_values(function, arrays, plain[everything](*arrays))
            for position in free_of_order(function):
                dtype = function.values[position].type.dtype
                same = same_bits(got[position], wanted[position], dtype)
                assert same.all(), f"{function.name}: {function.values[position].name}\n{text}"


@pytest.mark.parametrize("seed", [60])
def test_both_pipelines_give_the_same_bits(seed: int) -> None:
    check_pipelines(functions_of(Seeded(seed), FUNCTIONS), seeds=3)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(500, 540))
def test_many_programs_on_both_pipelines(seed: int) -> None:
    check_pipelines(functions_of(Seeded(seed), FUNCTIONS), seeds=3)


def check_targets(functions: list[Function]) -> None:
    """The same bits from every target: the language promises it."""
    text = source(functions)
    native, *others = (kina.compile(text, target=target, threads=False) for target in TARGETS)
    for function in functions:
        everything = f"{function.name}_all"
        arrays = function.inputs(0)
        wanted = all_values(function, arrays, native[everything](*arrays))
        for target, module in zip(TARGETS[1:], others, strict=True):
            got = all_values(function, arrays, module[everything](*arrays))
            for position in function.computed:
                dtype = function.values[position].type.dtype
                same = same_bits(got[position], wanted[position], dtype)
                assert same.all(), f"{target} differs from native: {text}"


@pytest.mark.parametrize("seed", [50])
def test_every_target_gives_the_same_bits(seed: int) -> None:
    check_targets(functions_of(Seeded(seed), 3))


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(400, 410))
def test_many_programs_on_every_target(seed: int) -> None:
    check_targets(functions_of(Seeded(seed), FUNCTIONS))


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 220))
def test_many_seeded_programs(seed: int) -> None:
    check_program(functions_of(Seeded(seed), FUNCTIONS), seeds=3)


def outcome(call: Callable[..., object], arrays: Sequence[np.ndarray]) -> object:
    """The shapes of what a call gives, or what it says."""
    try:
        return [result.shape for result in as_tuple(call(*arrays))]
    except kina.KinaError as error:
        return str(error)


def check_empty(functions: list[Function]) -> None:
    """Each symbol is 0 in turn: a result, or the refusal, that the reference has."""
    module = kina.compile(source(functions))
    for function in functions:
        for symbol in sorted(function.sizes):
            whole = function.sizes[symbol]
            function.sizes[symbol] = 0
            arrays = function.inputs(0)
            function.sizes[symbol] = whole
            call = module[function.name]
            found, wanted = outcome(call, arrays), outcome(call.reference, arrays)
            assert found == wanted, f"{symbol} = 0\n{source([function])}"


def test_sizes_of_0_are_those_of_the_reference() -> None:
    check_empty(functions_of(Seeded(70), 2 * FUNCTIONS))


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(600, 640))
def test_many_sizes_of_0_are_those_of_the_reference(seed: int) -> None:
    check_empty(functions_of(Seeded(seed), 2 * FUNCTIONS))
