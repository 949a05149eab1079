"""softmax and log_softmax as formulas (seed 9)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from kina.dialects.base import KinaOp
from kina.dialects.elementwise import DivOp, ExpOp, LogOp, SubOp
from kina.dialects.normalize import LogSoftmaxOp, NormalizeOp, SoftmaxOp
from kina.dialects.reduce import ReduceKeepOp
from kina.dialects.shaping import BroadcastOp
from kina.dialects.types import from_ir
from kina.passes.expand_math import NONPOSITIVE, SUMMED
from kina.passes.notes import NAN_ELSEWHERE
from kina.types import Dim


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


PATTERNS: tuple[RewritePattern, ...] = (DecomposeLogSoftmax(), DecomposeSoftmax())
