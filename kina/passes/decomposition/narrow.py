"""Sums and copies of small floats and of I4 compute in wider elements and round once."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from kina.dialects.elementwise import CastOp
from kina.dialects.internal import ScatterAddOp
from kina.dialects.scan import CumsumOp
from kina.dialects.selection import PutPlacesOp
from kina.dtypes import F32, I4, I8


class ScatterAddInF32(RewritePattern):
    """scatter_add of small floats: its sums are F32 and round once."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ScatterAddOp, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        if not op.kina_type.dtype.is_small_float:
            return
        updates = CastOp(op.updates, F32)
        wide = ScatterAddOp(updates, op.indices, op.kina_type.dims[0])
        rewriter.replace(op, [updates, wide, CastOp(wide, op.kina_type.dtype)])


class PutPlacesInF32(RewritePattern):
    """put_places of small floats: F32 holds each of them."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: PutPlacesOp, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        if not op.kina_type.dtype.is_small_float:
            return
        updates, size = CastOp(op.updates, F32), op.kina_type.dims[op.axis_value]
        wide = PutPlacesOp(updates, op.places, op.axis_value, size)
        rewriter.replace(op, [updates, wide, CastOp(wide, op.kina_type.dtype)])


class CumsumOfNibbles(RewritePattern):
    """cumsum of I4, in I8: the low bits of sums are the sums of the low bits."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: CumsumOp, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        if op.kina_type.dtype is not I4:
            return
        wide = CastOp(op.operand, I8)
        total = CumsumOp(wide, op.axis_value)
        rewriter.replace(op, [wide, total, CastOp(total, I4)])


PATTERNS: tuple[RewritePattern, ...] = (ScatterAddInF32(), PutPlacesInF32(), CumsumOfNibbles())
