"""Building IR: an operation goes in at one place, and its result comes out.

The one class of its kind. What some passes build besides are methods of their own on top of it:
loops and vectors (`kernels/ops.py`), arithmetic on bits (`emit.py`).
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    UnknownLoc,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

INDEX = IndexType()


class Builder:
    """Puts operations at the end of a block, or before an operation, one after the other.

    Each takes the current `location`, if that is known, and so do the arguments of the block.
    """

    def __init__(self, where: Block | Operation, location: LocationAttr | None = None) -> None:
        self._before = where if isinstance(where, Operation) else None
        block = where.parent_block() if isinstance(where, Operation) else where
        assert block is not None, "an operation outside of a block has no place before it"
        self.block = block
        self.location: LocationAttr = location or UnknownLoc()
        if location is not None and isinstance(where, Block):
            for argument in where.args:
                argument.location = location

    def append(self, op: Operation) -> Operation:
        """Puts `op` there."""
        if not isinstance(self.location, UnknownLoc):
            op.location = self.location
        if self._before is None:
            self.block.add_op(op)
        else:
            self.block.insert_op_before(op, self._before)
        return op

    def value(self, op: Operation) -> SSAValue:
        """Puts `op` there; its first result."""
        return self.append(op).results[0]

    def integer(self, value: int, type_: IntegerType | IndexType) -> SSAValue:
        """An integer constant; values past the signed range wrap."""
        return self.value(arith.ConstantOp(IntegerAttr(value, type_, truncate_bits=True)))

    def real(self, value: float, type_: AnyFloat) -> SSAValue:
        """A floating-point constant."""
        return self.value(arith.ConstantOp(FloatAttr(value, type_)))

    def constant(self, value: float, type_: Attribute) -> SSAValue:
        """A constant of an integer or floating-point type."""
        if isinstance(type_, IntegerType):
            return self.integer(int(value), cast(IntegerType, type_))
        return self.real(value, cast(AnyFloat, type_))

    def index(self, value: int) -> SSAValue:
        """A constant of type index."""
        return self.integer(value, INDEX)

    def compare(self, predicate: str, left: SSAValue, right: SSAValue) -> SSAValue:
        """`arith.cmpi` or `arith.cmpf`, as the operands are integers or floats."""
        if isinstance(left.type, IntegerType | IndexType):
            return self.value(arith.CmpiOp(left, right, predicate))
        return self.value(arith.CmpfOp(left, right, predicate))

    def select(self, condition: SSAValue, yes: SSAValue, no: SSAValue) -> SSAValue:
        """`yes` where the condition holds, else `no`."""
        return self.value(arith.SelectOp(condition, yes, no))
