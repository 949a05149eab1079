"""Contests: reductions to a best value and the index that it came from (argmax, seed 17)."""

from __future__ import annotations

from typing import TypeAlias

from xdsl.dialects import arith, linalg
from xdsl.ir import Operation, SSAValue

Join: TypeAlias = type[arith.MaximumfOp | arith.MinimumfOp | arith.MaxSIOp | arith.MinSIOp]

_JOINS: dict[tuple[type[Operation], str], Join] = {
    (arith.CmpfOp, "ogt"): arith.MaximumfOp,
    (arith.CmpfOp, "olt"): arith.MinimumfOp,
    (arith.CmpiOp, "sgt"): arith.MaxSIOp,
    (arith.CmpiOp, "slt"): arith.MinSIOp,
}
"""By the comparison that a value must win to be the best: what gives the better of two."""


def join_of(op: linalg.ops.GenericOp) -> Join | None:
    """What gives the better of two best values, if `op` is a contest.

    In one, a strictly better value replaces the best one, and its index with it. Nothing may read
    the best value afterwards. Lanes of elements can hold contests of their own: the result is the
    lowest index of those that hold the best value.
    """
    if len(op.outputs) != 2 or len(op.results) != 2 or op.results[0].uses:
        return None
    block = op.body.block
    yields = block.last_op
    assert yields is not None
    value, position = (result.owner for result in yields.operands)
    if not isinstance(value, arith.SelectOp) or not isinstance(position, arith.SelectOp):
        return None
    best, index = block.args[-2:]
    alone = (
        position.cond is value.cond
        and (value.rhs, position.rhs) == (best, index)
        and _users(best) == {value.cond.owner, value}
        and _users(index) == {position}
    )
    return _join(value.cond.owner, value.lhs, best) if alone else None


def _join(op: object, challenger: SSAValue, best: SSAValue) -> Join | None:
    if not isinstance(op, arith.CmpfOp | arith.CmpiOp) or (op.lhs, op.rhs) != (challenger, best):
        return None
    names = (
        arith.CMPF_COMPARISON_OPERATIONS
        if isinstance(op, arith.CmpfOp)
        else arith.CMPI_COMPARISON_OPERATIONS
    )
    return _JOINS.get((type(op), names[op.predicate.value.data]))


def _users(value: SSAValue) -> set[Operation]:
    return {use.operation for use in value.uses}
