"""The op that joins an element to what a reduction has so far, and whether its order can be seen.

This is the only place that decides it: where the order can be seen, the result is that of the
order that `docs/schedule.md` promises, on every way that a kernel can take.
"""

from __future__ import annotations

from xdsl.dialects import arith, linalg, math
from xdsl.ir import Operation

CHAIN = math.FmaOp
"""It joins an element to what there is so far; two of them cannot be joined: one chain."""
ORDERED = arith.AddfOp, arith.MulfOp, CHAIN
"""They round: in another order the bits may be others."""
FREE = (
    *(arith.MaximumfOp, arith.MinimumfOp, arith.MaxSIOp, arith.MinSIOp, arith.MaxUIOp),
    *(arith.MinUIOp, arith.AddiOp, arith.MuliOp, arith.AndIOp, arith.OrIOp, arith.XOrIOp),
)
"""They give the same in any order."""


def combiner_of(op: linalg.ops.GenericOp) -> Operation | None:
    """The one op that joins the accumulator with an element; None where parts cannot be joined."""
    block = op.body.block
    last = block.last_op
    assert last is not None
    accumulator, combined = block.args[-1], last.operands[0].owner
    if not isinstance(combined, ORDERED + FREE):
        return None
    if isinstance(combined, CHAIN) and combined.c is not accumulator:
        return None
    return combined if [use.operation for use in accumulator.uses] == [combined] else None


def is_ordered(op: linalg.ops.GenericOp) -> bool:
    """Whether the order of a reduction can be seen in its bits."""
    return isinstance(combiner_of(op), ORDERED)


def is_chain(op: linalg.ops.GenericOp) -> bool:
    """Whether a reduction is one chain of fused multiply-adds, which nothing cuts."""
    return isinstance(combiner_of(op), CHAIN)
