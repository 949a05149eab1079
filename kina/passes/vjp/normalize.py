"""Gradients of softmax and log_softmax: from the result in F32, before it was rounded."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from kina.dialects.normalize import LogSoftmaxOp, SoftmaxOp
from kina.passes.tensor_builder import type_of
from kina.passes.vjp.builder import GradientBuilder, Partial


def log_softmax(b: GradientBuilder, op: LogSoftmaxOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct - exp(y) * sum(ct)`: a -inf element, whose exp is 0, gets exactly what `ct` holds."""

    def operand() -> SSAValue:
        type_, wide = type_of(ct), b.widen(ct)
        result = b.wide_result(op)
        total = b.spread(b.total_keep(wide, op.axis_value), type_.dims)
        power = b.exp_of_nonpositive(result)
        return b.cast(b.sub(wide, b.mul(power, total)), type_.dtype)

    return [operand]


def softmax(b: GradientBuilder, op: SoftmaxOp, ct: SSAValue) -> Sequence[Partial]:
    """`y * (ct - sum(ct * y))`."""

    def operand() -> SSAValue:
        type_, wide, result = type_of(ct), b.widen(ct), b.wide_result(op)
        total = b.total_keep(b.mul(wide, result), op.axis_value)
        centred = b.sub(wide, b.spread(total, type_.dims))
        return b.cast(b.mul(result, centred), type_.dtype)

    return [operand]
