"""The reduction x = n * ln(2) + r that exp, expm1 and tanh share, and 2^n; bounds and signs."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from kina.frozen import frozen
from kina.passes.emit import Emitter
from kina.passes.expansions.numbers import ALL_BUT_SIGN, SIGN_BIT

LOG2_E = 0x3FB8AA3B
MINUS_LN2 = 0xBF317218  # the float32 nearest to -ln(2)
MINUS_LN2_REST = 0x3102E308  # -ln(2) minus that
# (exp(r) - 1 - r) / r^2 on |r| <= ln(2)/2, for r and the rest counted together with it.
TAIL_POLYNOMIAL = (0x3F000000, 0x3E2AAAAA, 0x3D2AAA7C, 0x3C08896E, 0x3AB69D1B, 0x394F34FB)


def magic(shift: int) -> int:
    """1.5 * 2^23 + 127 - shift.

    Added to a small number it rounds it to an integer n, and the low bits of the sum are the
    biased exponent of 2^(n - shift).
    """
    return 0x4B400000 + 127 - shift


@frozen
class Reduced:
    """exp(x) - 1 = 2^n * (r + tail) + (2^n - 1), for an x that is split by `reduce`."""

    r: SSAValue
    """x - n * ln(2), rounded, within ln(2)/2 of 0."""
    tail: SSAValue
    """exp(r) - 1 - r, and what rounding r lost."""
    power: SSAValue
    """2^(n - shift)."""

    def plus(self, emit: Emitter, whole: SSAValue) -> tuple[SSAValue, SSAValue]:
        """`whole` + power * (r + tail), as a sum of two numbers, the second one small.

        `whole` is 0 or no smaller than power * r.
        """
        total = emit.fma(self.r, self.power, whole)
        lost = emit.fma(self.r, self.power, emit.binary(arith.SubfOp, whole, total))
        return total, emit.fma(self.tail, self.power, lost)


def reduce(emit: Emitter, x: SSAValue, shift: int, more: SSAValue | None = None) -> Reduced:
    """Splits x; n - shift has to lie in -126 .. 127. `more` is a small number to add to x."""
    constant = emit.bits(magic(shift))
    rounded = emit.fma(x, emit.bits(LOG2_E), constant)
    n = emit.binary(arith.SubfOp, rounded, constant)
    rest = emit.bits(MINUS_LN2_REST)
    # exact: n*ln2 cancels all but 24 bits of x
    high = emit.fma(n, emit.bits(MINUS_LN2), x)
    r = emit.fma(n, rest, high)
    lost = emit.fma(n, rest, emit.binary(arith.SubfOp, high, r))
    if more is not None:
        lost = emit.binary(arith.AddfOp, lost, more)
    square = emit.binary(arith.MulfOp, r, r)
    tail = emit.fma(square, emit.horner(r, TAIL_POLYNOMIAL), lost)
    return Reduced(r, tail, power(emit, emit.bitcast(rounded, i32)))


def power(emit: Emitter, exponent: SSAValue) -> SSAValue:
    """2^(exponent - 127)."""
    return emit.bitcast(emit.binary(arith.ShLIOp, exponent, emit.word(23)), f32)


def at_least(emit: Emitter, x: SSAValue, bound: int) -> SSAValue:
    """Compares and selects with x last: a NaN fails the comparison and stays."""
    low = emit.bits(bound)
    return emit.select(emit.compare("ogt", low, x), low, x)


def at_most(emit: Emitter, x: SSAValue, bound: int) -> SSAValue:
    """As `at_least`: a NaN stays."""
    high = emit.bits(bound)
    return emit.select(emit.compare("olt", high, x), high, x)


def magnitude(emit: Emitter, x: SSAValue) -> SSAValue:
    """The bits of x without its sign, as an integer."""
    return emit.binary(arith.AndIOp, emit.bitcast(x, i32), emit.word(ALL_BUT_SIGN))


def with_sign(emit: Emitter, value: SSAValue, x: SSAValue) -> SSAValue:
    """`value`, which is not negative, with the sign of x."""
    sign = emit.binary(arith.AndIOp, emit.bitcast(x, i32), emit.word(SIGN_BIT))
    return emit.bitcast(emit.binary(arith.OrIOp, emit.bitcast(value, i32), sign), f32)
