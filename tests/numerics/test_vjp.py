"""Every VJP: central differences in float64, and compiled code, over dtypes, ranks and axes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import kina
from helpers.batch import sample
from helpers.cases import Case, all_cases, source
from helpers.differences import check_gradient, with_gradient
from kina.arrays import numpy_dtype
from kina.ops import OPS, Family

POSITIVE = {"log", "log1p", "sqrt", "xlogy"}


def is_differentiable(case: Case) -> bool:
    """Whether there is a gradient, and it is the derivative."""
    floats = any(type_.dtype.is_float for type_ in case.types)
    return case.result.dtype.is_float and floats and case.op != "stop_gradient"


def differentiable_cases() -> Iterator[Case]:
    """What central differences can say something about."""
    return filter(is_differentiable, all_cases())


def dtype_of(case: Case) -> str:
    """The dtype of the result, and of every operand that is differentiated but a cast's."""
    return case.result.dtype.name if case.op == "select" else case.types[0].dtype.name


def inputs(case: Case, seed: int) -> list[np.ndarray]:
    """float64 operands, away from what is not smooth; indices with duplicates."""
    rng = np.random.default_rng(seed)
    arrays = [rng.standard_normal(shape) for shape in case.shapes]
    if case.op == "select":
        arrays[0] = arrays[0] > 0
    if case.op in POSITIVE:
        arrays = [0.5 + np.abs(array) for array in arrays]
    if case.op == "div":
        arrays[1] = np.where(arrays[1] < 0, -0.5, 0.5) + arrays[1]
    if case.op in ("gather", "take_along_axis"):
        axis = dict(case.attributes).get("axis", 0)
        arrays[1] = rng.integers(0, case.shapes[0][axis], case.shapes[1])
    if case.starts is not None:
        arrays[-1] = np.asarray(rng.integers(0, case.starts, ()))
    return arrays


def check_case(case: Case, seed: int) -> None:
    primal, gradient = with_gradient(case)
    wrt = [p for p, type_ in enumerate(case.types) if type_.dtype.is_float]
    rng = np.random.default_rng(seed)
    compared = check_gradient(primal, gradient, wrt, inputs(case, seed), rng)
    assert compared == len(wrt), f"{case}: not smooth"


F32_CASES = [case for case in differentiable_cases() if dtype_of(case) == "F32"]


@pytest.mark.parametrize("op", sorted({case.op for case in F32_CASES}))
def test_every_vjp_against_central_differences(op: str) -> None:
    """All shapes and axes in F32, every third of them with symbolic dimensions too."""
    for seed, case in enumerate(case for case in F32_CASES if case.op == op):
        check_case(case, seed)
        symbolic = case.symbolic() if seed % 3 == 0 else None
        if symbolic is not None:
            check_case(symbolic, seed)


@pytest.mark.parametrize("dtype", ["F16", "BF16", "F8E4M3", "F8E5M2"])
def test_the_rules_of_small_floats(dtype: str) -> None:
    """The IR of these has casts of its own; float64 sees that nothing else differs."""
    cases = [case for case in differentiable_cases() if dtype_of(case) == dtype]
    for seed, case in enumerate(cases[:: len(cases) // 40]):
        check_case(case, seed)


@pytest.mark.sweep
@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16", "F8E4M3", "F8E5M2"])
def test_every_case_of_every_dtype(dtype: str) -> None:
    for seed, case in enumerate(differentiable_cases()):
        if dtype_of(case) == dtype:
            check_case(case, seed)


def gradient_source(case: Case, name: str) -> str:
    """The case as a function, and its reverse mode."""
    return f"{source(case, name)}\nlet d{name} = reverseMode({name})"


EPSILON = {"F32": 2.0**-24, "F16": 2.0**-11, "BF16": 2.0**-8, "F8E4M3": 2.0**-4, "F8E5M2": 2.0**-3}


def check_close(got: np.ndarray, wanted: np.ndarray, dtype: str, what: str) -> None:
    """Within a few roundings of the largest element, or of the cotangents, which are near 1."""
    assert got.dtype == wanted.dtype, what
    assert got.shape == wanted.shape, what
    left, right = got.astype(np.float64), wanted.astype(np.float64)
    finite = np.isfinite(right)
    assert np.array_equal(finite, np.isfinite(left)), what
    scale = np.max(np.abs(right[finite]), initial=1.0)
    assert np.all(np.abs(left - right)[finite] <= 8 * EPSILON[dtype] * scale), what


FAMILIES = sorted({OPS[case.op].family for case in F32_CASES}, key=lambda family: family.value)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.value)
def test_compiled_gradients_agree_with_the_reference(family: Family) -> None:
    """Static and symbolic in turn, every dtype; the operations of a family in one library."""
    ops = sorted({case.op for case in F32_CASES if OPS[case.op].family == family})
    cases = [case for op in ops for case in sample(op, each=1) if is_differentiable(case)]
    text = "\n".join(gradient_source(case, f"f{i}") for i, case in enumerate(cases))
    module = kina.compile(text, threads=False)
    for seed, case in enumerate(cases):
        rng = np.random.default_rng(seed)
        arrays = [
            array if array.dtype == np.int64 else array.astype(numpy_dtype(type_.dtype))
            for array, type_ in zip(inputs(case, seed), case.types, strict=True)
        ]
        ct = rng.standard_normal(case.result_shape).astype(numpy_dtype(case.result.dtype))
        arguments = [*arrays, ct] if case.result.rank else arrays
        function = module[f"df{seed}"]
        names = [type_.dtype.name for type_ in function.type.results]
        pairs = zip(function(*arguments), function.reference(*arguments), names, strict=True)
        for position, (got, wanted, dtype) in enumerate(pairs):
            check_close(got, wanted, dtype, f"{case}: result {position}")
