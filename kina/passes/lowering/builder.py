"""Appending operations to a block, each with a source location."""

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
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

INDEX = IndexType()


class Builder:
    """Appends to `block`; every operation takes the current `location`."""

    def __init__(self, block: Block, location: LocationAttr) -> None:
        self.block = block
        self.location = location
        for argument in block.args:
            argument.location = location

    def append(self, op: Operation) -> Operation:
        """Append `op`."""
        op.location = self.location
        self.block.add_op(op)
        return op

    def value(self, op: Operation) -> SSAValue:
        """Append `op`; its first result."""
        return self.append(op).results[0]

    def index(self, value: int) -> SSAValue:
        """A constant of type index."""
        return self.value(arith.ConstantOp(IntegerAttr(value, INDEX)))

    def integer(self, value: int, type_: IntegerType) -> SSAValue:
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

    def compare(self, predicate: str, left: SSAValue, right: SSAValue) -> SSAValue:
        """`arith.cmpi` or `arith.cmpf`, as the operands are integers or floats."""
        if isinstance(left.type, IntegerType | IndexType):
            return self.value(arith.CmpiOp(left, right, predicate))
        return self.value(arith.CmpfOp(left, right, predicate))

    def select(self, condition: SSAValue, yes: SSAValue, no: SSAValue) -> SSAValue:
        """`yes` where the condition holds, else `no`."""
        return self.value(arith.SelectOp(condition, yes, no))
