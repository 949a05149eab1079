"""Compiled operations against the oracles and the reference: dtype × shape × axis from the tables.

Integers, casts, indexing, max, min, argmax and single + - * / sqrt bit for bit, the rest within
the bounds that the language states.
"""

from __future__ import annotations

from collections import defaultdict

import pytest

from helpers.batch import check_case, chunks, compile_cases, sample
from helpers.cases import Case, all_cases
from helpers.oracles import ORACLES
from kina.ops import OPS, Family


def _check_all(cases: list[Case], seeds: range) -> None:
    module = compile_cases(cases)
    for position, case in enumerate(cases):
        for seed in seeds:
            check_case(case, module[f"f{position}"], seed)


def test_every_operation_has_an_oracle() -> None:
    assert set(OPS) - set(ORACLES) == set()


def _groups() -> dict[str, list[str]]:
    """Operations whose samples are compiled together."""
    groups = defaultdict[str, list[str]](list)
    for op in OPS.values():
        groups[op.family.value if op.is_elementwise else op.name].append(op.name)
    return groups


GROUPS = _groups()


@pytest.mark.parametrize("group", GROUPS)
def test_a_sample_of_every_variant(group: str) -> None:
    # A cast has 121 variants and a reduction 48: one shape of each is a sample of all shapes.
    few = [op for op in GROUPS[group] if OPS[op].family in (Family.INDEXING, Family.NORMALIZE)]
    _check_all([case for op in GROUPS[group] for case in sample(op, 2 if few else 1)], range(3))


@pytest.mark.sweep
@pytest.mark.parametrize("op", OPS)
def test_every_case_static(op: str) -> None:
    for cases in chunks((case for case in all_cases() if case.op == op), 100):
        _check_all(cases, range(3))


@pytest.mark.sweep
@pytest.mark.parametrize("op", OPS)
def test_every_case_symbolic(op: str) -> None:
    symbolic = (case.symbolic() for case in all_cases() if case.op == op)
    for cases in chunks((case for case in symbolic if case is not None), 100):
        _check_all(cases, range(3))
