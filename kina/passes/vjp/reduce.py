"""Gradients of reductions along one axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from kina.dialects.reduce import ReductionOp
from kina.dtypes import F32
from kina.passes.tensor_builder import type_of
from kina.passes.vjp.builder import GradientBuilder, Partial
from kina.passes.vjp.scan import products_of_others
from kina.types import Dim


def reduction(b: GradientBuilder, op: ReductionOp, ct: SSAValue) -> Sequence[Partial]:
    """The rule of the reduction's kind; results that are no floats never come here."""
    rule = _RULES[op.kind.data.value]
    return [lambda: rule(b, op, ct)]


def _sum(b: GradientBuilder, op: ReductionOp, ct: SSAValue) -> SSAValue:
    """`ct` at every element."""
    return b.spread(_keep(b, op, ct), _dims(op))


def _mean(b: GradientBuilder, op: ReductionOp, ct: SSAValue) -> SSAValue:
    """`ct / size` at every element."""
    kept = b.widen(_keep(b, op, ct))
    type_ = type_of(kept)
    size = b.size(_dims(op)[op.axis_value], type_.placement)
    share = b.div(kept, b.spread(size, type_.dims))
    return b.spread(b.cast(share, type_of(ct).dtype), _dims(op))


def _extreme(b: GradientBuilder, op: ReductionOp, ct: SSAValue) -> SSAValue:
    """`ct`, shared equally between the elements that equal the result; NaNs tie with NaN."""
    result = b.spread(_keep(b, op, op.result), _dims(op))
    # a NaN makes the result NaN, so every NaN ties with it
    ties = b.logical_or(b.named("equal", op.operand, result), b.is_nan(op.operand))
    count = b.total_keep(b.cast(ties, F32), op.axis_value)
    share = b.cast(b.div(b.widen(_keep(b, op, ct)), count), type_of(ct).dtype)
    return b.where(ties, b.spread(share, _dims(op))).value


def _prod(b: GradientBuilder, op: ReductionOp, ct: SSAValue) -> SSAValue:
    """`ct` times the product of all other elements."""
    others = products_of_others(b, b.widen(op.operand), op.axis_value)
    share = b.mul(b.spread(b.widen(_keep(b, op, ct)), _dims(op)), others)
    return b.cast(share, type_of(ct).dtype)


_RULES: dict[str, Callable[[GradientBuilder, ReductionOp, SSAValue], SSAValue]] = {
    "sum": _sum,
    "mean": _mean,
    "max": _extreme,
    "min": _extreme,
    "prod": _prod,
}


def _keep(b: GradientBuilder, op: ReductionOp, value: SSAValue) -> SSAValue:
    """`value`, of the result's shape, with size 1 at the axis."""
    dims = _dims(op)
    kept = (*dims[: op.axis_value], 1, *dims[op.axis_value + 1 :])
    return b.reshape(value, kept)


def _dims(op: ReductionOp) -> tuple[Dim, ...]:
    return type_of(op.operand).dims
