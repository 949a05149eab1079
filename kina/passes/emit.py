"""Builds chains of scalar `arith` and `math` ops in place of one op, keeping its location."""

from __future__ import annotations

import struct

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, f32
from xdsl.ir import Attribute, Operation, SSAValue

BinaryOp = (
    type[arith.FloatingPointLikeBinaryOperation]
    | type[arith.SignlessIntegerBinaryOperation]
    | type[arith.SignlessIntegerBinaryOperationWithOverflow]
)

Constants = dict[tuple[Attribute, int | float], SSAValue]
"""The constants built so far, by type and value."""


def f32_from_bits(bits: int) -> float:
    """The value of the float32 whose bit pattern is `bits`."""
    return struct.unpack("<f", struct.pack("<I", bits))[0]


class Emitter:
    """Inserts ops before `target`, each with the target's location.

    Equal constants are built once per emitter, or once per block if emitters for the same block,
    made in program order, share `constants`.
    """

    def __init__(self, target: Operation, constants: Constants | None = None) -> None:
        block = target.parent_block()
        assert block is not None, "an op outside of a block cannot be expanded"
        self._target = target
        self._block = block
        self._constants: Constants = {} if constants is None else constants

    def insert(self, op: Operation) -> SSAValue:
        """Inserts `op` and returns its only result."""
        op.location = self._target.location
        self._block.insert_op_before(op, self._target)
        return op.results[0]

    def finish(self, value: SSAValue) -> None:
        """Replaces the target's result by `value` and erases the target."""
        self._target.results[0].replace_all_uses_with(value)
        self._block.erase_op(self._target)

    def bits(self, pattern: int) -> SSAValue:
        """The float32 constant with this bit pattern; infinities and NaN included."""
        key = (f32, pattern)
        if key not in self._constants:
            value = FloatAttr(f32_from_bits(pattern), f32)
            self._constants[key] = self.insert(arith.ConstantOp(value))
        return self._constants[key]

    def integer(self, value: int, width: int = 32) -> SSAValue:
        """An integer constant; values past the signed range wrap."""
        key = (IntegerType(width), value)
        if key not in self._constants:
            attribute = IntegerAttr(value, width, truncate_bits=True)
            self._constants[key] = self.insert(arith.ConstantOp(attribute))
        return self._constants[key]

    def binary(self, op: BinaryOp, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """`op(lhs, rhs)`."""
        return self.insert(op(lhs, rhs))

    def fma(self, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
        """`a * b + c`, rounded once."""
        return self.insert(math.FmaOp(a, b, c))

    def horner(self, x: SSAValue, patterns: tuple[int, ...]) -> SSAValue:
        """The float32 polynomial in x with these coefficients, constant term first."""
        total = self.bits(patterns[-1])
        for pattern in reversed(patterns[:-1]):
            total = self.fma(total, x, self.bits(pattern))
        return total

    def compare(self, predicate: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """A comparison of floats."""
        return self.insert(arith.CmpfOp(lhs, rhs, predicate))

    def compare_int(self, predicate: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """A comparison of integers."""
        return self.insert(arith.CmpiOp(lhs, rhs, predicate))

    def select(self, condition: SSAValue, yes: SSAValue, no: SSAValue) -> SSAValue:
        """`yes` where the condition holds, else `no`."""
        return self.insert(arith.SelectOp(condition, yes, no))

    def bitcast(self, value: SSAValue, to: Attribute) -> SSAValue:
        """The same bits as another type of the same width."""
        return self.insert(arith.BitcastOp(value, to))
