"""log: e * ln(2) + log(m), with m around 1."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from kina.passes.emit import Emitter
from kina.passes.expansions.numbers import (
    INFINITY,
    MINUS_INFINITY,
    NAN,
    ONE,
    SMALLEST_NORMAL,
    TWO_POW_23,
)

LOG_CUT = 0x3F30A3D7  # 0.69
LN2_SCALED = 0x33B17218  # float32(ln(2)) * 2^-23
MINUS_LN2_SCALED = 0xB3B17218
LN2_REST_SCALED = 0xA582E308  # (ln(2) - float32(ln(2))) * 2^-23
# (log(1 + f) - f) / f^2 on -0.31 <= f <= 0.38, constant term first.
LOG_POLYNOMIAL = (
    0xBEFFFFFE,
    0x3EAAAA8F,
    0xBE80014C,
    0x3E4CE064,
    0xBE2A4C41,
    0x3E1011BE,
    0xBE042ABB,
    0x3E0B309F,
    0xBDC25D94,
)


def expand_log(emit: Emitter, x: SSAValue) -> SSAValue:
    """log(x) = e*ln(2) + log(m) with m in [0.69, 1.38) and e an integer."""
    subnormal = emit.compare("olt", x, emit.bits(SMALLEST_NORMAL))
    grown = emit.binary(arith.MulfOp, x, emit.bits(TWO_POW_23))
    bits = emit.bitcast(emit.select(subnormal, grown, x), i32)
    above = emit.binary(arith.SubiOp, bits, emit.word(LOG_CUT))
    exponent = emit.binary(arith.AndIOp, above, emit.word(0xFF800000))
    m = emit.bitcast(emit.binary(arith.SubiOp, bits, exponent), f32)
    shrunk = emit.binary(arith.SubiOp, exponent, emit.word(23 << 23))
    exponent = emit.select(subnormal, shrunk, exponent)
    e = emit.value(arith.SIToFPOp(exponent, f32))  # e * 2^23, exactly
    f = emit.binary(arith.SubfOp, m, emit.bits(ONE))
    return _special(emit, x, log_sum(emit, e, f))


def log_sum(emit: Emitter, e: SSAValue, f: SSAValue, more: SSAValue | None = None) -> SSAValue:
    """e*ln(2) + f + f^2*p(f); the rounding error of the first sum is carried into the last.

    e comes times 2^23. `more` is a small number to add.
    """
    square = emit.binary(arith.MulfOp, f, f)
    tail = emit.horner(f, LOG_POLYNOMIAL)
    head = emit.fma(e, emit.bits(LN2_SCALED), f)
    kept = emit.fma(e, emit.bits(MINUS_LN2_SCALED), head)
    lost = emit.binary(arith.SubfOp, f, kept)
    lost = emit.fma(e, emit.bits(LN2_REST_SCALED), lost)
    if more is not None:
        lost = emit.binary(arith.AddfOp, lost, more)
    return emit.binary(arith.AddfOp, head, emit.fma(square, tail, lost))


def _special(emit: Emitter, x: SSAValue, value: SSAValue) -> SSAValue:
    """infinity and NaN give themselves, zeros -infinity, negative numbers NaN."""
    zero = emit.bits(0)
    value = emit.select(emit.compare("olt", x, emit.bits(INFINITY)), value, x)
    is_zero = emit.compare("oeq", x, zero)
    pole = emit.select(is_zero, emit.bits(MINUS_INFINITY), emit.bits(NAN))
    return emit.select(emit.compare("ugt", x, zero), value, pole)
