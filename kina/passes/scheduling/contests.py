"""Contests: reductions to a best value and the index that it came from (argmax, seed 17)."""

from __future__ import annotations

from xdsl.dialects import arith, linalg
from xdsl.ir import Operation, SSAValue

_STRICT = {arith.CmpfOp: ("ogt", "olt"), arith.CmpiOp: ("sgt", "slt")}


def is_contest(op: linalg.ops.GenericOp) -> bool:
    """Whether a strictly better value replaces the best one, and its index with it.

    Nothing may read the best value afterwards. Lanes of elements can hold contests of their own:
    the result is the lowest index of those that hold the best value.
    """
    if len(op.outputs) != 2 or len(op.results) != 2 or op.results[0].uses:
        return False
    block = op.body.block
    yields = block.last_op
    assert yields is not None
    value, position = (result.owner for result in yields.operands)
    if not isinstance(value, arith.SelectOp) or not isinstance(position, arith.SelectOp):
        return False
    best, index = block.args[-2:]
    return (
        position.cond is value.cond
        and (value.rhs, position.rhs) == (best, index)
        and _is_strict(value.cond.owner, value.lhs, best)
        and _users(best) == {value.cond.owner, value}
        and _users(index) == {position}
    )


def _is_strict(op: object, challenger: SSAValue, best: SSAValue) -> bool:
    if not isinstance(op, arith.CmpfOp | arith.CmpiOp) or (op.lhs, op.rhs) != (challenger, best):
        return False
    names = (
        arith.CMPF_COMPARISON_OPERATIONS
        if isinstance(op, arith.CmpfOp)
        else arith.CMPI_COMPARISON_OPERATIONS
    )
    return names[op.predicate.value.data] in _STRICT[type(op)]


def _users(value: SSAValue) -> set[Operation]:
    return {use.operation for use in value.uses}
