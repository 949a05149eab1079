"""exp: 2^n * exp(r), with the forms for operands of which something is known."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from kina.frozen import frozen
from kina.passes.emit import Emitter
from kina.passes.expansions.numbers import ONE, SMALLEST_NORMAL
from kina.passes.expansions.reduction import (
    LOG2_E,
    MINUS_LN2,
    MINUS_LN2_REST,
    at_least,
    at_most,
    magic,
    power,
)

# exp: below EXP_LOW the result is 0 (exactly 2^-150.76, which rounds to it), above EXP_HIGH it is
# infinite; below EXP_SUBNORMAL it is less than 2^-126.
EXP_LOW = 0xC2D10000  # -104.5
EXP_HIGH = 0x42B20000  # 89.0
EXP_NEGLIGIBLE = 0xC2AC0000  # -86.0: added to 1, what is less than exp of this changes nothing
EXP_SUBNORMAL = 0xC2AEAC50  # -87.33655
# exp(r) on |r| <= ln(2)/2, constant term first.
EXP_POLYNOMIAL = (ONE, ONE, 0x3EFFFFFE, 0x3E2AAA4A, 0x3D2AAC5F, 0x3C091C2B, 0x3AB51E82)


@frozen
class Scaling:
    """How exp splits 2^n * p into one factor and the polynomial: 2^(n - shift) * (2^shift * p)."""

    shift: int

    @property
    def magic(self) -> int:
        """What rounds to an integer n and has 2^(n - shift) in its low bits."""
        return magic(self.shift)

    @property
    def polynomial(self) -> tuple[int, ...]:
        """The coefficients times 2^shift."""
        return tuple(pattern + (self.shift << 23) for pattern in EXP_POLYNOMIAL)


# n runs from -151 to 128, which is more than float32 exponents can say. LARGE reaches 128; SMALL
# reaches -150, and its factor for -151 is exactly 0. NORMAL reaches neither.
LARGE = Scaling(1)
SMALL = Scaling(-24)
NORMAL = Scaling(0)


def expand_exp(emit: Emitter, x: SSAValue, nonpositive: bool) -> SSAValue:
    """exp(x) = 2^n * exp(r) with n an integer and |r| <= ln(2)/2.

    `nonpositive` promises x <= 64 or NaN and saves four ops; the bits are the same.
    """
    x = at_least(emit, x, EXP_LOW)
    if not nonpositive:
        x = at_most(emit, x, EXP_HIGH)
    value, exponent = _split(emit, x, SMALL if nonpositive else LARGE)
    if not nonpositive:
        value, exponent = _large_to_small(emit, x, value, exponent)
    return _scale(emit, x, value, exponent)


def expand_summed_exp(emit: Emitter, x: SSAValue) -> SSAValue:
    """exp(x) for x <= 64 or NaN; below -86 it is exp(-86), so that no result is subnormal."""
    value, exponent = _split(emit, at_least(emit, x, EXP_NEGLIGIBLE), NORMAL)
    return emit.binary(arith.MulfOp, value, power(emit, exponent))


def _split(emit: Emitter, x: SSAValue, scaling: Scaling) -> tuple[SSAValue, SSAValue]:
    """2^shift * exp(r), and n as the exponent of 2^(n - shift)."""
    constant = emit.bits(scaling.magic)
    rounded = emit.fma(x, emit.bits(LOG2_E), constant)
    n = emit.binary(arith.SubfOp, rounded, constant)
    # the first step is exact: n*ln2 cancels all but 24 bits of x
    r = emit.fma(n, emit.bits(MINUS_LN2), x)
    r = emit.fma(n, emit.bits(MINUS_LN2_REST), r)
    return emit.horner(r, scaling.polynomial), emit.bitcast(rounded, i32)


def _large_to_small(
    emit: Emitter, x: SSAValue, value: SSAValue, exponent: SSAValue
) -> tuple[SSAValue, SSAValue]:
    """Changes the scaling where x is negative."""
    step = LARGE.shift - SMALL.shift
    # the sign bit, as an integer: a blend uses it directly where there are no mask registers
    negative = emit.compare("slt", emit.bitcast(x, i32), emit.word(0))
    less = emit.binary(arith.MulfOp, value, emit.bits(ONE - (step << 23)))
    more = emit.binary(arith.AddiOp, exponent, emit.word(step))
    return emit.select(negative, less, value), emit.select(negative, more, exponent)


def _scale(emit: Emitter, x: SSAValue, value: SSAValue, exponent: SSAValue) -> SSAValue:
    """value * 2^(exponent - 127), rounded once.

    Hardware is ten times slower where an operation underflows. So subnormal results are rounded
    by adding 2^-126, whose bits are then subtracted as an integer.
    """
    factor = power(emit, exponent)
    subnormal = emit.compare("olt", x, emit.bits(EXP_SUBNORMAL))
    offset = emit.select(subnormal, emit.bits(SMALLEST_NORMAL), emit.bits(0))
    bits = emit.bitcast(emit.fma(value, factor, offset), i32)
    bits = emit.binary(arith.SubiOp, bits, emit.bitcast(offset, i32))
    return emit.bitcast(bits, f32)
