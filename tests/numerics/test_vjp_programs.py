"""Random programs, differentiated: central differences in float64, and compiled code."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from xdsl.dialects.func import FuncOp

import kina
from helpers.check_program import source
from helpers.choose import Seeded
from helpers.differences import check_gradient, gradient_of
from helpers.expect import same_bits
from helpers.inputs import random_array
from helpers.programs import Function, generate
from kina.arrays import numpy_dtype
from kina.frontend.check import check
from kina.frontend.irgen import generate as generate_ir
from kina.frontend.source import Source

pytestmark = pytest.mark.filterwarnings("ignore::kina.KinaWarning")

FUNCTIONS = 5


def functions_of(seed: int) -> list[Function]:
    functions: list[Function] = []
    for position in range(FUNCTIONS):
        functions.append(generate(Seeded(seed), f"f{position}", functions[-6:]))
        seed += 1000
    return functions


def differentiable(functions: list[Function]) -> Iterator[Function]:
    """Those with gradients; the others are refused in the right words."""
    text = source(functions)
    for function in functions:
        program = f"{text}\nlet d = reverseMode({function.name})"
        try:
            check(Source("t.kina", program))
        except kina.KinaTypeError as error:
            (problem,) = error.diagnostics
            assert problem.message == "Argmax VJP is unsupported." or "floating" in problem.message
        else:
            yield function


def steadily(functions: list[Function]) -> list[Function]:
    """Those whose derivative is that of their value: `stop_gradient` is nowhere in them."""
    stopped: list[str] = []
    kept: list[Function] = []
    for function in functions:
        text = source([function])
        if any(word in text for word in ("stop_gradient(", *(f"{name}(" for name in stopped))):
            stopped.append(function.name)
        else:
            kept.append(function)
    return kept


def plain_inputs(function: Function, rng: np.random.Generator) -> list[np.ndarray]:
    """Moderate numbers: floats are float64."""
    arrays: list[np.ndarray] = []
    for position in function.parameters:
        value = function.values[position]
        shape = function.shape(value.type)
        if value.bound is not None:
            arrays.append(np.asarray(rng.integers(0, value.bound, shape)))
        elif value.type.dtype.is_float:
            arrays.append(np.asarray(0.5 + np.abs(rng.standard_normal(shape))))
        else:
            arrays.append(random_array(rng, value.type.dtype, shape, "ties"))
    return arrays


def check_differences(functions: list[Function], seed: int) -> int:
    """How many gradients could be compared."""
    compared = 0
    steady = steadily(functions)
    for function in differentiable(functions):
        if function not in steady:
            continue
        module = generate_ir(check(Source("t.kina", source(functions))))
        (primal,) = (
            op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == function.name
        )
        types = [function.values[position].type for position in function.parameters]
        wrt = [place for place, type_ in enumerate(types) if type_.dtype.is_float]
        rng = np.random.default_rng(seed)
        gradient = gradient_of(primal, wrt)
        with np.errstate(all="ignore"):
            compared += check_gradient(primal, gradient, wrt, plain_inputs(function, rng), rng)
    return compared


def check_compiled(functions: list[Function], seed: int) -> None:
    """The results in the bits of the function itself; gradients of the reference's types."""
    chosen = list(differentiable(functions))
    reverse = "\n".join(f"let d{f.name} = reverseMode({f.name})" for f in chosen)
    module = kina.compile(f"{source(functions)}\n{reverse}", threads=False)
    for function in chosen:
        rng = np.random.default_rng(seed)
        derived = module[f"d{function.name}"]
        arrays = plain_inputs(function, rng)
        for place, parameter in enumerate(derived.type.parameters):
            dtype = numpy_dtype(parameter.type.dtype)
            if place < len(arrays):
                arrays[place] = arrays[place].astype(dtype)
                continue
            shape = function.shape(parameter.type)
            arrays.append(np.asarray(rng.standard_normal(shape)).astype(dtype))
        results = module[function.name](*arrays[: len(function.parameters)])
        results = results if isinstance(results, tuple) else (results,)
        found, wanted = derived(*arrays), derived.reference(*arrays)
        for result, again, type_ in zip(results, found, derived.type.results, strict=False):
            assert np.all(same_bits(result, again, type_.dtype)), function.name
        for left, right in zip(found, wanted, strict=True):
            assert (left.dtype, left.shape) == (right.dtype, right.shape)


@pytest.mark.parametrize("start", range(0, 30, 10))
def test_random_programs_against_central_differences(start: int) -> None:
    compared = sum(check_differences(functions_of(seed), seed) for seed in range(start, start + 10))
    assert compared >= 10


@pytest.mark.parametrize("seed", range(2))
def test_random_programs_compile(seed: int) -> None:
    check_compiled(functions_of(seed), seed)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 220))
def test_many_random_programs_against_central_differences(seed: int) -> None:
    check_differences(functions_of(seed), seed)


@pytest.mark.sweep
@pytest.mark.parametrize("seed", range(100, 220))
def test_many_random_programs_compile(seed: int) -> None:
    check_compiled(functions_of(seed), seed)
