"""Matrix products become contractions of F32, or of integers that fill whole bytes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from kina.contraction import Contraction, matmul_loops
from kina.dialects.base import kina_type_of
from kina.dialects.contraction import ContractOp, MatmulOp
from kina.dialects.elementwise import CastOp
from kina.dialects.shaping import ReshapeOp
from kina.dims import DimError, multiply
from kina.dtypes import F32, I4, I8
from kina.types import Dim


class MatmulIsContraction(RewritePattern):
    """A matrix product says which loop walks which axis."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: MatmulOp, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        ranks = [kina_type_of(operand).rank for operand in op.operands]
        loops = Contraction(ranks[0], *matmul_loops(*ranks))
        rewriter.replace(op, ContractOp(op.left, op.right, loops))


class ContractWide(RewritePattern):
    """Small floats are contracted in F32 and round once; I4 in I8, of which it keeps the low bits.

    Sums and products of the low bits are the low bits of sums and products.
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ContractOp, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        dtype = op.kina_type.dtype
        wide = F32 if dtype.is_small_float else I8 if dtype is I4 else None
        if wide is None:
            return
        casts = [CastOp(operand, wide) for operand in op.operands]
        contraction = ContractOp(casts[0], casts[1], op.loops)
        rewriter.replace(op, [*casts, contraction, CastOp(contraction, dtype)])


class MergeSummedLoops(RewritePattern):
    """Two summed loops that both operands walk side by side are one, over reshaped operands."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: ContractOp, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        loops = op.loops
        left, right = (type_.dims for type_ in op.kina_operand_types())
        for loop in loops.summed[:-1]:
            merged = [
                _merged(dims, walked, loop)
                for dims, walked in ((left, loops.left), (right, loops.right))
            ]
            if None in merged:
                continue
            shapes = [ReshapeOp(v, d) for v, d in zip(op.operands, merged, strict=True) if d]
            rest = [
                tuple(other - (other > loop) for other in walked if other != loop + 1)
                for walked in (loops.left, loops.right)
            ]
            new = ContractOp(shapes[0], shapes[1], Contraction(loops.rank, *rest))
            rewriter.replace(op, [*shapes, new])
            return


def _merged(dims: Sequence[Dim], walked: Sequence[int], loop: int) -> tuple[Dim, ...] | None:
    """The dimensions with those of `loop` and the next as one; None if they are not neighbours."""
    at = walked.index(loop)
    size = _product(*dims[at : at + 2]) if walked[at + 1 : at + 2] == (loop + 1,) else None
    return None if size is None else (*dims[:at], size, *dims[at + 2 :])


def _product(first: Dim, second: Dim) -> Dim | None:
    """The product of two sizes, None where it is past the limits of sizes."""
    try:
        return multiply([first, second])
    except DimError:
        return None


PATTERNS: tuple[RewritePattern, ...] = (
    MatmulIsContraction(),
    ContractWide(),
    MergeSummedLoops(),
)
