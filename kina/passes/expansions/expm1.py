"""expm1: exp(x) - 1 without the cancellation, as 2^n * (exp(r) - 1) + (2^n - 1)."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from kina.passes.emit import Emitter
from kina.passes.expansions.numbers import HALF
from kina.passes.expansions.reduction import at_least, at_most, magnitude, reduce

LOW = 0xC1C80000  # -25.0: from here on it is -1
HIGH = 0x42B20000  # 89.0: from here on it is infinite
TINY = 0x33000000  # 2^-25: up to here it is x


def expand_expm1(emit: Emitter, x: SSAValue) -> SSAValue:
    """Twice half the sum, since 2^n may be 2^128; 2^n - 1 may need 25 bits: two numbers, then."""
    clamped = at_most(emit, at_least(emit, x, LOW), HIGH)
    reduced = reduce(emit, clamped, shift=1)
    whole = emit.binary(arith.SubfOp, reduced.power, emit.bits(HALF))
    short = emit.binary(arith.SubfOp, reduced.power, whole)
    short = emit.binary(arith.SubfOp, short, emit.bits(HALF))
    total, rest = reduced.plus(emit, whole)
    rest = emit.binary(arith.AddfOp, rest, short)
    half = emit.binary(arith.AddfOp, total, rest)
    value = emit.binary(arith.AddfOp, half, half)
    tiny = emit.compare("slt", magnitude(emit, x), emit.word(TINY))
    return emit.select(tiny, x, value)
