"""Every VJP against central differences in float64, over dtypes, ranks and axes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from helpers.cases import Case, all_cases
from helpers.differences import check_gradient, with_gradient

POSITIVE = {"log", "sqrt"}


def differentiable_cases() -> Iterator[Case]:
    for case in all_cases():
        if case.types[0].dtype.is_float and case.result.dtype.is_float:
            yield case


def inputs(case: Case, seed: int) -> list[np.ndarray]:
    """float64 operands, away from what is not smooth; indices with duplicates."""
    rng = np.random.default_rng(seed)
    arrays = [rng.standard_normal(shape) for shape in case.shapes]
    if case.op in POSITIVE:
        arrays = [0.5 + np.abs(array) for array in arrays]
    if case.op == "div":
        arrays[1] = np.where(arrays[1] < 0, -0.5, 0.5) + arrays[1]
    if case.op in ("gather", "take_along_axis"):
        axis = dict(case.attributes).get("axis", 0)
        arrays[1] = rng.integers(0, case.shapes[0][axis], case.shapes[1])
    return arrays


def check_case(case: Case, seed: int) -> None:
    primal, gradient = with_gradient(case)
    wrt = [p for p, type_ in enumerate(case.types) if type_.dtype.is_float]
    rng = np.random.default_rng(seed)
    compared = check_gradient(primal, gradient, wrt, inputs(case, seed), rng)
    assert compared == len(wrt), f"{case}: not smooth"


F32_CASES = [case for case in differentiable_cases() if case.types[0].dtype.name == "F32"]


@pytest.mark.parametrize("op", sorted({case.op for case in F32_CASES}))
def test_every_vjp_against_central_differences(op: str) -> None:
    """All shapes and axes in F32, every third of them with symbolic dimensions too."""
    for seed, case in enumerate(case for case in F32_CASES if case.op == op):
        check_case(case, seed)
        symbolic = case.symbolic() if seed % 3 == 0 else None
        if symbolic is not None:
            check_case(symbolic, seed)
