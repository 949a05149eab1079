"""Gradients against central differences in float64."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp

from helpers.cases import Case
from helpers.float64 import evaluate64
from helpers.ir import function
from kina.dialects.types import from_ir, to_ir
from kina.dialects.vjp import VjpOp
from kina.passes.inline_calls import InlineCalls
from kina.passes.transform_ad import TransformAd
from kina.rules.gradients import vjp_operands, vjp_results

STEPS = (1e-5, 2e-5)
"""Two sizes of step: where their differences disagree, the function is not smooth nearby."""


def with_gradient(case: Case) -> tuple[FuncOp, FuncOp]:
    """A function of one operation, and that of its results and gradients."""
    primal = function(case)
    wrt = [p for p, type_ in enumerate(case.types) if type_.dtype.is_float]
    return primal, gradient_of(primal, wrt)


def gradient_of(primal: FuncOp, wrt: Sequence[int]) -> FuncOp:
    """`reverseMode(primal, wrt)`, expanded, beside `primal` in its module."""
    inputs = [from_ir(type_) for type_ in primal.function_type.inputs]
    outputs = [from_ir(type_) for type_ in primal.function_type.outputs]
    operands = [to_ir(type_) for type_ in vjp_operands(inputs, outputs)]
    results = [to_ir(type_) for type_ in vjp_results(inputs, outputs, wrt)]
    derived = FuncOp("gradient", (operands, results))
    op = VjpOp(primal.sym_name.data, derived.body.block.args, wrt, results)
    derived.body.block.add_ops([op, ReturnOp(*op.results)])
    module = primal.parent_op()
    assert isinstance(module, ModuleOp)
    module.body.block.add_op(derived)
    module.verify()
    for step in (InlineCalls(), TransformAd()):
        step.apply(Context(), module)
        module.verify()
    return derived


def check_gradient(
    primal: FuncOp,
    gradient: FuncOp,
    wrt: Sequence[int],
    arrays: Sequence[np.ndarray],
    rng: np.random.Generator,
) -> int:
    """Compare along random directions, one for each parameter; how many were comparable."""
    outputs = evaluate64(primal, arrays)
    types = [from_ir(type_) for type_ in primal.function_type.outputs]
    weights = [rng.standard_normal(output.shape) for output in outputs]
    given = [
        weight if type_.rank else np.float64(1.0)
        for weight, type_ in zip(weights, types, strict=True)
    ]
    floating = [position for position, type_ in enumerate(types) if type_.dtype.is_float]
    cotangents = [weights[position] for position in floating if types[position].rank]
    results = evaluate64(gradient, [*arrays, *cotangents])
    for result, output in zip(results, outputs, strict=False):
        assert np.array_equal(result, output, equal_nan=True)

    def loss(position: int, moved: np.ndarray) -> float:
        inputs = [*arrays[:position], moved, *arrays[position + 1 :]]
        values = evaluate64(primal, inputs)
        return sum(float(np.sum(given[p] * values[p])) for p in floating)

    compared = 0
    for position, slope in zip(wrt, results[len(outputs) :], strict=True):
        assert slope.shape == arrays[position].shape
        direction = rng.standard_normal(slope.shape)
        wanted = [
            (loss(position, arrays[position] + h * direction)
             - loss(position, arrays[position] - h * direction)) / (2 * h)
            for h in STEPS
        ]  # fmt: skip
        got = float(np.sum(slope * direction))
        scale = 1.0 + abs(got) + float(np.sum(np.abs(slope * direction)))
        smooth = np.isfinite(wanted).all() and abs(wanted[0] - wanted[1]) <= 1e-6 * scale
        if smooth:
            compared += 1
            assert abs(got - wanted[0]) <= 2e-5 * scale, (position, got, wanted)
    return compared
