"""Local rewrites of kina IR; each keeps every bit of every result.

Elementwise operations move before broadcasts, where there are fewer elements; shaping and casts
that undo one another go. Nothing here reorders arithmetic: each operation rounds to its dtype.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, TensorType
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from kina.dialects.elementwise import CastOp, ConstantOp, ElementwiseOp, NegOp
from kina.dialects.indexing import CheckIndicesOp, SelectAlongAxisOp, TakeAlongAxisOp
from kina.dialects.layout import CheckWindowOp, OverwriteOp, SliceOp, UpdateOp, WindowOp
from kina.dialects.shaping import BroadcastOp, ShapingOp
from kina.dialects.table import build
from kina.dialects.types import from_ir
from kina.dtypes import DType
from kina.rules.layout import always_fits
from kina.rules.parts import broadcastable
from kina.types import Dim


def dims_of(value: SSAValue) -> tuple[Dim, ...]:
    """The dimensions of a kina value."""
    return from_ir(value.type).dims


class SplitTake(RewritePattern):
    """take_along_axis becomes its check, which stays here, and a selection, which may move."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TakeAlongAxisOp, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        size = dims_of(op.values)[op.axis_value]
        check = CheckIndicesOp(op.indices, op.axis_value, size)
        rewriter.replace(op, [check, SelectAlongAxisOp(op.values, op.indices, op.axis_value)])


class SplitWindow(RewritePattern):
    """A slice or an update becomes its check and its pure half; no check that always holds."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SliceOp | UpdateOp, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        within = op.whole.dims[op.axis_value]
        start = op.known_position
        checks: list[Operation] = []
        if start is None or not always_fits(within, op.size, start):
            checks = [CheckWindowOp(op.position, op.rule_name, op.axis_value, op.size, within)]
        if isinstance(op, SliceOp):
            pure = WindowOp(op.operand, op.start, op.axis_value, op.size)
        else:
            pure = OverwriteOp(op.operand, op.new, op.at, op.axis_value)
        rewriter.replace(op, [*checks, pure])


class SplatConstant(RewritePattern):
    """A constant with one value everywhere is that value, broadcast."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ConstantOp, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        payload = op.value
        one = payload.data.data[: len(payload.data.data) // len(payload)]
        if not payload.get_shape() or one * len(payload) != payload.data.data:
            return
        kind = from_ir(op.result.type)
        scalar = DenseIntOrFPElementsAttr(
            TensorType(payload.get_element_type(), []), BytesAttr(one)
        )
        constant = ConstantOp(scalar, kind.placement)
        rewriter.replace(op, [constant, BroadcastOp(constant, kind.dims)])


class Identity(RewritePattern):
    """A cast to the same dtype, a broadcast or reshape to the same shape: the operand."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        if isinstance(op, CastOp | ShapingOp) and op.operand.type == op.result.type:
            rewriter.replace(op, [], [op.operand])


class NegNeg(RewritePattern):
    """`-(-x)` is x: a sign flips twice, and integers wrap twice."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: NegOp, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        if isinstance(inner := op.operand.owner, NegOp):
            rewriter.replace(op, [], [inner.operand])


class CastBack(RewritePattern):
    """A cast to a dtype that holds every value, and back, is nothing."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CastOp, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        inner = op.operand.owner
        if not isinstance(inner, CastOp) or inner.operand.type != op.result.type:
            return
        if _holds_all(inner.kina_type.dtype, op.kina_type.dtype):
            rewriter.replace(op, [], [inner.operand])


def _holds_all(wide: DType, narrow: DType) -> bool:
    """Whether every value of `narrow` survives the way to `wide` and back."""
    if narrow.is_float:
        return narrow.is_small_float and wide.is_float and not wide.is_small_float
    if narrow.is_int:
        return wide.is_int and wide.bits > narrow.bits
    return True


class ShapingOfShaping(RewritePattern):
    """Two steps of shaping in one, where one can say both."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        if not isinstance(op, ShapingOp) or not isinstance(inner := op.operand.owner, ShapingOp):
            return
        if _steps_merge(op, inner):
            rewriter.replace(op, type(op)(inner.operand, op.kina_type.dims))


def _steps_merge(outer: ShapingOp, inner: ShapingOp) -> bool:
    """Whether `outer` can take `inner`'s operand and give the same."""
    if type(outer) is type(inner):
        return True
    source, between = dims_of(inner.operand), inner.kina_type.dims
    padded = between == (1,) * (len(between) - len(source)) + source
    if isinstance(inner, BroadcastOp):
        # a broadcast that repeats nothing only adds 1s
        return padded
    return padded and len(between) > len(source)


class ElementwiseOfBroadcasts(RewritePattern):
    """An operation on broadcasts only happens in the largest of their shapes before it spreads.

    log(broadcast(x)) is broadcast(log(x)), and likewise every elementwise operation and cast.
    """

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        if not isinstance(op, ElementwiseOp | CastOp):
            return
        owners = [operand.owner for operand in op.operands]
        sources = [owner.operand for owner in owners if isinstance(owner, BroadcastOp)]
        if len(sources) != len(owners):
            return
        dims = _common_dims([dims_of(source) for source in sources])
        if dims is None or dims == op.kina_type.dims:
            return
        spread = [BroadcastOp(source, dims) for source in sources]
        small = build(op.rule_name, [step.result for step in spread], op.rule_attributes())
        rewriter.replace(op, [*spread, small, BroadcastOp(small, op.kina_type.dims)])


def _common_dims(shapes: Sequence[tuple[Dim, ...]]) -> tuple[Dim, ...] | None:
    """The shape that all others broadcast to."""
    return next((s for s in shapes if all(broadcastable(o, s) for o in shapes)), None)


PATTERNS: tuple[RewritePattern, ...] = (
    SplitTake(),
    SplitWindow(),
    SplatConstant(),
    Identity(),
    NegNeg(),
    CastBack(),
    ShapingOfShaping(),
    ElementwiseOfBroadcasts(),
)
