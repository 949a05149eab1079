"""Checks compiled programs step by step: each step on the operands that were computed for it.

So every step has its own bound and errors do not pile up. `f_all` returns what every step binds;
`f` returns what the program does, and must have the same bits: fusion cannot change them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import kina
from helpers.expect import Exact, check, same_bits
from helpers.oracles import expected
from helpers.programs import Function, Step
from kina.arrays import numpy_dtype
from kina.ops import OPS

INEXACT = {"softmax", "log_softmax", *(name for name, op in OPS.items() if op.in_float64)}


def source(functions: Sequence[Function]) -> str:
    """The program: every function, and a twin of it that returns what every step binds."""
    texts = []
    for function in functions:
        texts.append(function.source(function.name, function.results))
        texts.append(function.source(f"{function.name}_all", function.computed or [0]))
    return "\n".join(texts)


def check_function(module: kina.Module, function: Function, seed: int) -> None:
    """Compiled results are right, and right again from the reference; bad indices are refused."""
    arrays = function.inputs(seed)
    copies = [array.tobytes() for array in arrays]
    everything = module[f"{function.name}_all"]
    compiled = all_values(function, arrays, everything(*arrays))
    reference = all_values(function, arrays, everything.reference(*arrays))
    for step in function.steps:
        _check_step(module, function, step, compiled, "compiled")
        _check_step(module, function, step, reference, "reference")
    _check_results(module, function, arrays, compiled)
    if all(_is_exact(step) for step in function.steps):
        for position in function.computed:
            _check_same(function, position, compiled[position], reference[position])
    _check_bad_indices(module, function, arrays)
    assert [array.tobytes() for array in arrays] == copies, f"{function.name}: inputs changed"


def all_values(
    function: Function, arrays: Sequence[np.ndarray], results: object
) -> dict[int, np.ndarray]:
    """Parameters and what every step binds, by position."""
    outputs = list(results) if isinstance(results, tuple) else [results]
    positions = function.computed or [0]
    values = dict(zip(function.parameters, arrays, strict=True))
    values.update(zip(positions, outputs, strict=True))
    return values


def _is_exact(step: Step) -> bool:
    """Whether the language promises the bits of a step."""
    if step.case is None:
        return step.callee is None
    kind = dict(step.case.attributes).get("op")
    inexact_sum = kind in ("sum", "mean") and step.case.types[0].dtype.is_float
    return step.case.op not in INEXACT and not inexact_sum


def _check_step(
    module: kina.Module, function: Function, step: Step, values: dict[int, np.ndarray], how: str
) -> None:
    what = f"{how} {function.name}: {step.text}"
    operands = [step.constant if p == -1 else values[p] for p in step.operands]
    if step.case is not None:
        case = step.case
        wanted = expected(
            case.op, list(case.types), dict(case.attributes), operands, case.result_shape
        )
        check(values[step.results[-1]], wanted, case.result.dtype, what)
        if case.op == "top_k":
            axis, places = dict(case.attributes)["axis"], values[step.results[-1]]
            best = Exact(np.take_along_axis(operands[0], places, axis))
            check(values[step.results[0]], best, case.types[0].dtype, what)
    elif step.callee is None:
        dtype = function.values[step.results[0]].type.dtype
        check(values[step.results[0]], Exact(step.constant), dtype, what)
    else:
        call = module[step.callee]
        results = call(*operands) if how == "compiled" else call.reference(*operands)
        results = results if isinstance(results, tuple) else (results,)
        for position, result in zip(step.results, results, strict=True):
            _check_same(function, position, values[position], result)


def _check_results(
    module: kina.Module,
    function: Function,
    arrays: Sequence[np.ndarray],
    values: dict[int, np.ndarray],
) -> None:
    results = module[function.name](*arrays)
    results = results if isinstance(results, tuple) else (results,)
    for position, result in zip(function.results, results, strict=True):
        _check_same(function, position, result, values[position])
        assert result.shape == function.shape(function.values[position].type)


def _check_same(function: Function, position: int, got: np.ndarray, wanted: np.ndarray) -> None:
    value = function.values[position]
    assert got.dtype == numpy_dtype(value.type.dtype)
    same = same_bits(np.asarray(got, order="C"), np.asarray(wanted, order="C"), value.type.dtype)
    assert same.all(), f"{function.name}: {value.name} has other bits where only more is returned"


def _check_bad_indices(
    module: kina.Module, function: Function, arrays: Sequence[np.ndarray]
) -> None:
    """Each index parameter made bad in turn: the compiled error is the reference's."""
    for order, position in enumerate(function.parameters):
        bound = function.values[position].bound
        if bound is None:
            continue
        bad = [array.copy() for array in arrays]
        bad[order].reshape(-1)[-1] = (bound, -1, 1 << 32, -(1 << 63))[(order + bound) % 4]
        compiled = module[function.name]
        with pytest.raises(kina.KinaIndexError) as want:
            compiled.reference(*bad)
        with pytest.raises(kina.KinaIndexError) as got:
            compiled(*bad)
        assert str(got.value) == str(want.value)
