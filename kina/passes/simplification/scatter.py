"""Scatters of reverse mode: what is known about a tensor that is zero but for one place a fiber."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import AnyFloat, DenseIntOrFPElementsAttr, TensorType
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from kina.dialects.elementwise import AddOp, CastOp, ConstantOp
from kina.dialects.internal import ScatterAlongAxisOp
from kina.dialects.reduce import ReduceKeepOp, ReduceOp
from kina.dialects.shaping import BroadcastOp, ReshapeOp
from kina.dialects.types import element_type, from_ir
from kina.types import TensorType as KinaType


class CastOfScatter(RewritePattern):
    """A cast between floats moves before the scatter: zero stays zero."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CastOp, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        inner, dtype = op.operand.owner, op.kina_type.dtype
        if not isinstance(inner, ScatterAlongAxisOp) or not dtype.is_float:
            return
        size = inner.kina_type.dims[inner.axis_value]
        updates = CastOp(inner.updates, dtype)
        scatter = ScatterAlongAxisOp(updates, inner.indices, inner.axis_value, size)
        rewriter.replace(op, [updates, scatter])


class SumOfScatter(RewritePattern):
    """The sum of a scatter along its axis is the updates, with 0 added: that makes -0 into +0."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ReduceOp | ReduceKeepOp, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        inner = op.operand.owner
        if not isinstance(inner, ScatterAlongAxisOp) or op.kind.data.value != "sum":
            return
        if op.axis_value != inner.axis_value:
            return
        updates = from_ir(inner.updates.type)
        constant = _zero(updates)
        zeros = BroadcastOp(constant, updates.dims)
        total = AddOp(inner.updates, zeros)
        rewriter.replace(op, [constant, zeros, total, ReshapeOp(total, op.kina_type.dims)])


def _zero(type_: KinaType) -> ConstantOp:
    """A rank-0 +0.0 beside a tensor of this type."""
    element = cast(AnyFloat, element_type(type_.dtype))
    payload = DenseIntOrFPElementsAttr.from_list(TensorType(element, []), [0.0])
    return ConstantOp(payload, type_.placement)


PATTERNS: tuple[RewritePattern, ...] = (CastOfScatter(), SumOfScatter())
