"""`decompose-kina`: composite operations become primitive ones, small floats compute in F32.

log_softmax and softmax become max, sub, exp, sum, … (seed 9). An operation on 16- or 8-bit floats
casts its operands to F32, computes as a whole in F32, and casts back once, so every operation
rounds to its dtype exactly once. argmax and operations that only move elements stay as they are.
`reduce mean` is primitive: the size that it divides by may be known at run time only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from kina.dialects.base import KinaOp
from kina.dialects.elementwise import (
    CastOp,
    ClampOp,
    DivOp,
    ExpOp,
    LogOp,
    MaximumOp,
    MinimumOp,
    SubOp,
)
from kina.dialects.internal import ScatterAddOp
from kina.dialects.kina import build
from kina.dialects.normalize import LogSoftmaxOp, NormalizeOp, SoftmaxOp
from kina.dialects.reduce import ReduceKeepOp
from kina.dialects.scan import CumsumOp
from kina.dialects.selection import PutPlacesOp
from kina.dialects.shaping import BroadcastOp
from kina.dialects.types import from_ir
from kina.dtypes import F32, I4, I8
from kina.passes.decomposition.composites import DecomposeComposite
from kina.passes.decomposition.contraction import CONTRACTION_PATTERNS
from kina.passes.decomposition.weights import IN_F32
from kina.passes.expand_math import NONPOSITIVE, SUMMED
from kina.passes.located import rewrite
from kina.passes.notes import NAN_ELSEWHERE
from kina.types import Dim


class ComputeInF32(RewritePattern):
    """An arithmetic operation on small floats: cast, the same operation on F32, cast back."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        if not isinstance(op, IN_F32) or not op.kina_type.dtype.is_small_float:
            return
        casts = [CastOp(operand, F32) for operand in op.operands]
        wide = build(op.rule_name, [cast.result for cast in casts], op.rule_attributes())
        rewriter.replace(op, [*casts, wide, CastOp(wide, op.kina_type.dtype)])


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


class DecomposeClamp(RewritePattern):
    """clamp is `minimum(maximum(x, low), high)`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ClampOp, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        raised = MaximumOp(op.operand, op.low)
        rewriter.replace(op, [raised, MinimumOp(raised, op.high)])


class DecomposeLogSoftmax(RewritePattern):
    """log_softmax as seed 9 writes it: `(x - max) - log(sum(exp(x - max)))`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: LogSoftmaxOp, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        shifted = _shifted(op)
        exponential = _exponential(shifted[-1])
        exponential.attributes[SUMMED] = UnitAttr()
        total = ReduceKeepOp(exponential, "sum", op.axis_value)
        spread = BroadcastOp(total, _dims(op))
        logarithm = LogOp(spread)
        result = SubOp(shifted[-1], logarithm)
        rewriter.replace(op, [*shifted, exponential, total, spread, logarithm, result])


class DecomposeSoftmax(RewritePattern):
    """softmax, computed without overflow: `exp(x - max) / sum(exp(x - max))`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: SoftmaxOp, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        shifted = _shifted(op)
        exponential = _exponential(shifted[-1])
        total = ReduceKeepOp(exponential, "sum", op.axis_value)
        spread = BroadcastOp(total, _dims(op))
        result = DivOp(exponential, spread)
        rewriter.replace(op, [*shifted, exponential, total, spread, result])


def _shifted(op: NormalizeOp) -> list[KinaOp]:
    """`x - broadcast(max(x))`; a NaN reaches every result of its fiber through the sum."""
    maximum = ReduceKeepOp(op.operand, "max", op.axis_value)
    maximum.attributes[NAN_ELSEWHERE] = UnitAttr()
    spread = BroadcastOp(maximum, _dims(op))
    return [maximum, spread, SubOp(op.operand, spread)]


def _exponential(shifted: KinaOp) -> ExpOp:
    """exp of what is never above 0."""
    op = ExpOp(shifted)
    op.attributes[NONPOSITIVE] = UnitAttr()
    return op


def _dims(op: NormalizeOp) -> Sequence[Dim]:
    return from_ir(SSAValue.get(op.operand).type).dims


DECOMPOSITIONS: tuple[RewritePattern, ...] = (
    ComputeInF32(),
    ScatterAddInF32(),
    PutPlacesInF32(),
    DecomposeClamp(),
    DecomposeLogSoftmax(),
    DecomposeSoftmax(),
    DecomposeComposite(),
    *CONTRACTION_PATTERNS,
    CumsumOfNibbles(),
)


@dataclass(frozen=True)
class DecomposeKina(ModulePass):
    """Rewrites composite and small-float operations (seeds 9 and 17)."""

    name = "decompose-kina"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the module in place."""
        rewrite(op, DECOMPOSITIONS)
