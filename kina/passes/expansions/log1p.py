"""log1p: e * ln(2) + log(1 + f), where 2^e * (1 + f) is 1 + x, which is never rounded."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from kina.passes.emit import Emitter
from kina.passes.expansions.log import LOG_CUT, log_sum
from kina.passes.expansions.numbers import INFINITY, MINUS_INFINITY, MINUS_ONE, NAN, ONE
from kina.passes.expansions.reduction import magnitude

QUARTER = 0x3E800000
FOUR = 0x40800000
TINY = 0x33000000  # 2^-25: up to here it is x


def expand_log1p(emit: Emitter, x: SSAValue) -> SSAValue:
    """e comes from the rounded 1 + x, f from x itself, with the error of its only rounding.

    2^-e * x + (2^-e - 1) is f: of the two terms the second one is exact, or else so small a part
    of the result that it does not matter.
    """
    one = emit.bits(ONE)
    bits = emit.bitcast(emit.binary(arith.AddfOp, x, one), i32)
    above = emit.binary(arith.SubiOp, bits, emit.word(LOG_CUT))
    exponent = emit.binary(arith.AndIOp, above, emit.word(0xFF800000))
    scaled = emit.binary(arith.SubiOp, emit.bitcast(x, i32), exponent)
    scaled = emit.bitcast(scaled, f32)
    # 4 * 2^-e, since 2^-e may be subnormal
    scale = emit.bitcast(emit.binary(arith.SubiOp, emit.word(FOUR), exponent), f32)
    whole = emit.fma(scale, emit.bits(QUARTER), emit.bits(MINUS_ONE))
    f = emit.binary(arith.AddfOp, scaled, whole)
    lost = emit.binary(arith.AddfOp, scaled, emit.binary(arith.SubfOp, whole, f))
    # lost / (1 + f), nearly
    more = emit.binary(arith.SubfOp, lost, emit.binary(arith.MulfOp, lost, f))
    e = emit.value(arith.SIToFPOp(exponent, f32))  # e * 2^23, exactly
    return _special(emit, x, log_sum(emit, e, f, more))


def _special(emit: Emitter, x: SSAValue, value: SSAValue) -> SSAValue:
    """Tiny numbers, infinity and NaN give themselves, -1 gives -infinity, what is below it NaN."""
    offset = emit.binary(arith.SubiOp, magnitude(emit, x), emit.word(TINY))
    usual = emit.compare("ult", offset, emit.word(INFINITY - TINY))
    value = emit.select(usual, value, x)
    pole = emit.select(
        emit.compare("oeq", x, emit.bits(MINUS_ONE)), emit.bits(MINUS_INFINITY), emit.bits(NAN)
    )
    return emit.select(emit.compare("ugt", x, emit.bits(MINUS_ONE)), value, pole)
