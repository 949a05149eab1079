"""`decompose-kina`: composite operations become primitive ones, small floats compute in F32.

log_softmax and softmax become max, sub, exp, sum, … (seed 9). An operation on 16- or 8-bit floats
casts its operands to F32, computes as a whole in F32, and casts back once, so every operation
rounds to its dtype exactly once. argmax and operations that only move elements stay as they are.
`reduce mean` is primitive: the size that it divides by may be known at run time only.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from kina.dialects.base import KinaOp
from kina.dialects.elementwise import CastOp, ClampOp, MaximumOp, MinimumOp
from kina.dialects.table import build
from kina.dtypes import F32
from kina.lazy import LazyTable
from kina.passes.decomposition.composites import DecomposeComposite
from kina.passes.decomposition.weights import is_in_f32
from kina.passes.families import Patterns, patterns_for
from kina.passes.located import rewrite


class ComputeInF32(RewritePattern):
    """An arithmetic operation on small floats: cast, the same operation on F32, cast back."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        if not isinstance(op, KinaOp) or not is_in_f32(op) or not op.kina_type.dtype.is_small_float:
            return
        casts = [CastOp(operand, F32) for operand in op.operands]
        wide = build(op.rule_name, [cast.result for cast in casts], op.rule_attributes())
        rewriter.replace(op, [*casts, wide, CastOp(wide, op.kina_type.dtype)])


class DecomposeClamp(RewritePattern):
    """clamp is `minimum(maximum(x, low), high)`."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ClampOp, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        raised = MaximumOp(op.operand, op.low)
        rewriter.replace(op, [raised, MinimumOp(raised, op.high)])


_PATTERNS: Patterns = (ComputeInF32(), DecomposeClamp(), DecomposeComposite())

_FAMILIES: LazyTable[Patterns] = LazyTable(
    "kina.passes.decomposition",
    {
        "kina.scatter_add": "narrow.PATTERNS",
        "kina.put_places": "narrow.PATTERNS",
        "kina.cumsum": "narrow.PATTERNS",
        "kina.softmax": "normalize.PATTERNS",
        "kina.log_softmax": "normalize.PATTERNS",
        "kina.matmul": "contraction.PATTERNS",
        "kina.contract": "contraction.PATTERNS",
    },
)
"""What concerns an operation that few programs have."""


def decompose(module: ModuleOp) -> None:
    """Rewrite composite and small-float operations in place."""
    rewrite(module, _PATTERNS + patterns_for(module, _FAMILIES))


class DecomposeKina(ModulePass):
    """Rewrites composite and small-float operations (seeds 9 and 17)."""

    name = "decompose-kina"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the module in place."""
        decompose(op)
