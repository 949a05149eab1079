"""tanh: 1 - 2 / (exp(2|x|) + 1), each step with the rounding error of the one before it."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from kina.passes.emit import Emitter
from kina.passes.expansions.numbers import HALF, MINUS_TWO, ONE, TWO
from kina.passes.expansions.reduction import Reduced, at_most, magnitude, reduce, with_sign

HIGH = 0x41A00000  # 20.0: from twice x on it is 1
TINY = 0x39800000  # 2^-12: up to here it is x, within a third of an ulp


def expand_tanh(emit: Emitter, x: SSAValue) -> SSAValue:
    """Of |x|, with the sign of x."""
    positive = magnitude(emit, x)
    absolute = emit.bitcast(positive, f32)
    twice = emit.binary(arith.AddfOp, absolute, absolute)
    value = _from_exp(emit, reduce(emit, at_most(emit, twice, HIGH), shift=0))
    tiny = emit.compare("slt", positive, emit.word(TINY))
    return emit.select(tiny, x, with_sign(emit, value, x))


def _from_exp(emit: Emitter, reduced: Reduced) -> SSAValue:
    """With d + e = exp(2|x|) + 1 and q the rounded 2/d: 1 - q + ((q*d - 2) + q*e) * q/2.

    What is in parentheses is the exact error of q*d, and the share of e: both have to be divided
    by d, which q/2 does.
    """
    one = emit.bits(ONE)
    total, rest = reduced.plus(emit, emit.binary(arith.AddfOp, reduced.power, one))
    d = emit.binary(arith.AddfOp, total, rest)
    e = emit.binary(arith.AddfOp, emit.binary(arith.SubfOp, total, d), rest)
    q = emit.binary(arith.DivfOp, emit.bits(TWO), d)
    error = emit.fma(q, e, emit.fma(q, d, emit.bits(MINUS_TWO)))
    head = emit.binary(arith.SubfOp, one, q)
    lost = emit.binary(arith.SubfOp, emit.binary(arith.SubfOp, one, head), q)
    half = emit.binary(arith.MulfOp, q, emit.bits(HALF))
    return emit.binary(arith.AddfOp, head, emit.fma(error, half, lost))
