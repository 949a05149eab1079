"""Random well-typed programs: compiled against oracles and reference, step by step."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

import kina
from helpers.check_program import check_function, source
from helpers.choose import Chooser, Drawn, Seeded
from helpers.programs import Function, generate

FUNCTIONS = 5
"""Per module: a library costs far more to build than one more function in it."""


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


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 400))
def test_many_seeded_programs(seed: int) -> None:
    check_program(functions_of(Seeded(seed), FUNCTIONS), seeds=3)
