"""The composites along an axis, in F32; their gradients read the same intermediate values."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from xdsl.ir import SSAValue

from kina.dialects.fibers import LayerNormOp, LogSumExpOp, NormOp, RmsNormOp
from kina.dialects.functions import SqrtOp
from kina.dialects.reduce import ReduceKeepOp
from kina.dialects.shaping import ReshapeOp
from kina.frozen import frozen
from kina.passes.expand_math import SUMMED
from kina.passes.notes import NAN_ELSEWHERE
from kina.passes.tensor_builder import TensorBuilder, type_of

TOO_LARGE = 2.0**48
"""Elements from here on are scaled, so that the sum of 2^32 of their squares is finite."""
SCALE = 2.0**-80
SMALLEST = 2.0**-126


@frozen(slots=True)
class Normed:
    """Fibers of a fixed size: `value` is x, or x - mean(x), times `factor`."""

    value: SSAValue
    factor: SSAValue
    axis: int


def rms_normed(b: TensorBuilder, op: RmsNormOp) -> Normed:
    """`x / sqrt(mean(x * x) + eps)`."""
    return _normed(b, op, lambda scaled: scaled)


def layer_normed(b: TensorBuilder, op: LayerNormOp) -> Normed:
    """The same of `x - mean(x)`."""

    def centred(scaled: SSAValue) -> SSAValue:
        mean = b.mean_keep(scaled, op.axis_value)
        return b.sub(scaled, b.spread(mean, type_of(scaled).dims))

    return _normed(b, op, centred)


def _normed(b: TensorBuilder, op: NormOp, centre: Callable[[SSAValue], SSAValue]) -> Normed:
    """In fibers of large elements, x and the root of eps are scaled by a power of two."""
    wide = b.widen(op.operands[0])
    largest = ReduceKeepOp(b.named("abs", wide), "max", op.axis_value)
    largest = b.noted(largest, NAN_ELSEWHERE)
    is_large = b.named("greater", largest, b.like(TOO_LARGE, largest))
    scale = b.named("select", is_large, b.like(SCALE, largest), b.like(1.0, largest))
    least = max(op.eps_value * SCALE * SCALE, SMALLEST)
    eps = b.named("select", is_large, b.like(least, largest), b.like(op.eps_value, largest))

    dims = type_of(wide).dims
    value = centre(b.mul(wide, b.spread(scale, dims)))
    square = b.mean_keep(b.mul(value, value), op.axis_value)
    root = b.emit(SqrtOp(b.add(square, eps)))
    inverse = b.div(b.like(1.0, root), root)
    normed = b.mul(value, b.spread(inverse, dims))
    return Normed(normed, b.spread(b.mul(inverse, scale), dims), op.axis_value)


def logsumexp(b: TensorBuilder, op: LogSumExpOp) -> SSAValue:
    """`max + log(sum(exp(x - max)))`; where the maximum is infinite, it is the result."""
    x, axis = op.operand, op.axis_value
    largest = b.emit(ReduceKeepOp(x, "max", axis))
    power = b.exp_of_nonpositive(b.sub(x, b.spread(largest, type_of(x).dims)), SUMMED)
    value = b.add(largest, b.named("log", b.total_keep(power, axis)))
    is_finite = b.named("less", b.named("abs", largest), b.like(inf, largest))
    chosen = b.named("select", is_finite, value, largest)
    return b.emit(ReshapeOp(chosen, op.kina_type.dims))


def rms_norm(b: TensorBuilder, op: RmsNormOp) -> SSAValue:
    """Normed, times the weight."""
    value = rms_normed(b, op).value
    return b.mul(value, b.along(op.weight, op.axis_value, type_of(value).dims))


def layer_norm(b: TensorBuilder, op: LayerNormOp) -> SSAValue:
    """Normed, times the weight, plus the bias."""
    value = layer_normed(b, op).value
    dims = type_of(value).dims
    scaled = b.mul(value, b.along(op.weight, op.axis_value, dims))
    return b.add(scaled, b.along(op.bias, op.axis_value, dims))
