"""erf: x + x*p(x^2) near 0, 1 - exp(|x|*q(|x|)) farther out."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from kina.passes.emit import Emitter
from kina.passes.expansions.numbers import ONE
from kina.passes.expansions.reduction import at_most, magnitude, reduce, with_sign

NEAR = 0x3F666666  # 0.9
HIGH = 0x40800000  # 4.0: from here on it is 1
# erf(x)/x - 1 by x^2, on |x| <= 0.9, constant term first.
NEAR_POLYNOMIAL = (
    0x3E0375D4,
    0xBEC093A0,
    0x3DE716B0,
    0xBCDC0031,
    0x3BAA1F95,
    0xBA52C1DE,
    0x38A69432,
)
# log(1 - erf(x)) / x on 0.9 <= x <= 4, constant term first.
FAR_POLYNOMIAL = (
    0xBF90772E,
    0xBF229C57,
    0xBDD969DF,
    0x3CC21ADA,
    0xBB6C9A17,
    0x39A50FE1,
    0xB72EFB33,
)


def expand_erf(emit: Emitter, x: SSAValue) -> SSAValue:
    """Both forms, and a choice."""
    square = emit.binary(arith.MulfOp, x, x)
    near = emit.fma(emit.horner(square, NEAR_POLYNOMIAL), x, x)
    bits = magnitude(emit, x)
    far = with_sign(emit, _far(emit, at_most(emit, emit.bitcast(bits, f32), HIGH)), x)
    return emit.select(emit.compare("slt", bits, emit.word(NEAR)), near, far)


def _far(emit: Emitter, x: SSAValue) -> SSAValue:
    """Of a positive x: the exponent x*q(x) is exact, but for the rounding of q."""
    factor = emit.horner(x, FAR_POLYNOMIAL)
    exponent = emit.binary(arith.MulfOp, x, factor)
    lost = emit.fma(x, factor, emit.value(arith.NegfOp(exponent)))
    reduced = reduce(emit, exponent, shift=0, more=lost)
    whole = emit.binary(arith.SubfOp, reduced.power, emit.bits(ONE))
    total, rest = reduced.plus(emit, whole)
    return emit.value(arith.NegfOp(emit.binary(arith.AddfOp, total, rest)))
