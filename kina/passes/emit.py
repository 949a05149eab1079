"""Builds chains of scalar `arith` and `math` ops in place of one op, keeping its location."""

from __future__ import annotations

import struct
from functools import lru_cache

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import Float32Type, FloatAttr, f32, i32
from xdsl.ir import Attribute, Operation, SSAValue

from kina.passes.builder import Builder

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


@lru_cache(maxsize=1024)
def _f32_attribute(bits: int) -> FloatAttr[Float32Type]:
    return FloatAttr(f32_from_bits(bits), f32)


class Emitter(Builder):
    """Puts operations before `target`, each with the target's location.

    Equal constants are built once per emitter, or once per block if emitters for the same block,
    made in program order, share `constants`.
    """

    def __init__(self, target: Operation, constants: Constants | None = None) -> None:
        super().__init__(target, target.location)
        self._target = target
        self._constants: Constants = {} if constants is None else constants

    def finish(self, value: SSAValue) -> None:
        """Replaces the target's result by `value` and erases the target."""
        self._target.results[0].replace_all_uses_with(value)
        self.block.erase_op(self._target)

    def bits(self, pattern: int) -> SSAValue:
        """The float32 constant with this bit pattern; infinities and NaN included."""
        key = (f32, pattern)
        if key not in self._constants:
            self._constants[key] = self.value(arith.ConstantOp(_f32_attribute(pattern)))
        return self._constants[key]

    def word(self, value: int) -> SSAValue:
        """An integer constant of 32 bits; values past the signed range wrap."""
        key = (i32, value)
        if key not in self._constants:
            self._constants[key] = self.integer(value, i32)
        return self._constants[key]

    def binary(self, op: BinaryOp, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """`op(lhs, rhs)`."""
        return self.value(op(lhs, rhs))

    def fma(self, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
        """`a * b + c`, rounded once."""
        return self.value(math.FmaOp(a, b, c))

    def horner(self, x: SSAValue, patterns: tuple[int, ...]) -> SSAValue:
        """The float32 polynomial in x with these coefficients, constant term first."""
        total = self.bits(patterns[-1])
        for pattern in reversed(patterns[:-1]):
            total = self.fma(total, x, self.bits(pattern))
        return total

    def bitcast(self, value: SSAValue, to: Attribute) -> SSAValue:
        """The same bits as another type of the same width."""
        return self.value(arith.BitcastOp(value, to))
