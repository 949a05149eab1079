"""Products whose result is turned: rows become columns while they are written, not afterwards."""

from __future__ import annotations

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from kina.contraction import Contraction, Loops
from kina.dialects.contraction import ContractOp
from kina.dialects.layout import TransposeOp


class TransposeOfContract(RewritePattern):
    """A transpose of the last two axes of a product, which nothing else reads, is a product.

    Each element stays the same chain. The gradient of a transposed weight is one.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: TransposeOp, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        inner, axes = op.operand.owner, op.axes_values
        if not isinstance(inner, ContractOp) or len(list(op.operand.uses)) != 1:
            return
        *outer, row, column = range(len(axes))
        if axes != (*outer, column, row):
            return
        turned = {row: column, column: row}
        left, right = (_renamed(loops, turned) for loops in (inner.loops.left, inner.loops.right))
        product = ContractOp(inner.left, inner.right, Contraction(len(axes), left, right))
        rewriter.replace(op, [product])


def _renamed(loops: Loops, names: dict[int, int]) -> Loops:
    return tuple(names.get(loop, loop) for loop in loops)


PATTERNS: tuple[RewritePattern, ...] = (TransposeOfContract(),)
