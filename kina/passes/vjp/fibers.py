"""Gradients of the composites along an axis, from what they compute in F32."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from xdsl.ir import SSAValue

from kina.dialects.fibers import LayerNormOp, LogSumExpOp, RmsNormOp
from kina.dialects.normalize import SoftmaxOp
from kina.dialects.shaping import ReshapeOp
from kina.passes.decomposition.fibers import Normed, layer_normed, rms_normed
from kina.passes.tensor_builder import type_of
from kina.passes.vjp.builder import GradientBuilder, Partial


def logsumexp(b: GradientBuilder, op: LogSumExpOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct * softmax(x)`; exactly 0 where there is nothing but -inf."""

    def operand() -> SSAValue:
        wide = b.widen(op.operand)
        dims = type_of(wide).dims
        kept = (*dims[: op.axis_value], 1, *dims[op.axis_value + 1 :])
        result = b.emit(ReshapeOp(b.wide_result(op), kept))
        is_empty = b.spread(b.named("equal", result, b.like(-inf, result)), dims)
        share = b.emit(SoftmaxOp(wide, op.axis_value))
        cotangent = b.spread(b.emit(ReshapeOp(b.widen(ct), kept)), dims)
        slope = b.named("select", is_empty, b.like(0.0, wide), b.mul(cotangent, share))
        return b.rounded(slope, ct)

    return [operand]


def rms_norm(b: GradientBuilder, op: RmsNormOp, ct: SSAValue) -> Sequence[Partial]:
    """With n = x * r and h = ct * weight: `r * (h - n * mean(h * n))`, and the sum of `ct * n`."""

    def operand() -> SSAValue:
        normed = rms_normed(b, op)
        return b.rounded(_scaled(b, normed, _weighed(b, op, ct)), ct)

    return [operand, lambda: _weight(b, op, rms_normed(b, op), ct)]


def layer_norm(b: GradientBuilder, op: LayerNormOp, ct: SSAValue) -> Sequence[Partial]:
    """As rms_norm, with `h - mean(h)` for h; the sum of `ct` is the bias's."""

    def operand() -> SSAValue:
        normed = layer_normed(b, op)
        weighed = _weighed(b, op, ct)
        mean = b.spread(b.mean_keep(weighed, op.axis_value), type_of(ct).dims)
        return b.rounded(_scaled(b, normed, b.sub(weighed, mean), weighed), ct)

    def bias() -> SSAValue:
        return b.rounded(_summed(b, b.widen(ct), op.axis_value), ct)

    return [operand, lambda: _weight(b, op, layer_normed(b, op), ct), bias]


def _weighed(b: GradientBuilder, op: RmsNormOp | LayerNormOp, ct: SSAValue) -> SSAValue:
    weight = b.along(b.widen(op.weight), op.axis_value, type_of(ct).dims)
    return b.mul(b.widen(ct), weight)


def _scaled(
    b: GradientBuilder, normed: Normed, share: SSAValue, weighed: SSAValue | None = None
) -> SSAValue:
    """`r * (share - n * mean(weighed * n))`."""
    product = b.mul(share if weighed is None else weighed, normed.value)
    mean = b.spread(b.mean_keep(product, normed.axis), type_of(share).dims)
    return b.mul(normed.factor, b.sub(share, b.mul(normed.value, mean)))


def _weight(
    b: GradientBuilder, op: RmsNormOp | LayerNormOp, normed: Normed, ct: SSAValue
) -> SSAValue:
    return b.rounded(_summed(b, b.mul(b.widen(ct), normed.value), op.axis_value), ct)


def _summed(b: GradientBuilder, value: SSAValue, axis: int) -> SSAValue:
    """The sum over all axes but one, the last first."""
    for other in reversed(range(type_of(value).rank)):
        if other != axis:
            value = b.total(value, other)
    return value
