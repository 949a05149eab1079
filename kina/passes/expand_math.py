"""`expand-math`: exp and log become plain scalar arithmetic.

What comes out has no branch, no call and no reassociation, so it vectorises, needs no libm and
gives the same bits on every target. Every mul and add rounds on its own; where one rounding is
meant, `math.fma` says so. Both functions are within 1 ulp over all float32 values, which
`tools/ulp_sweep.py` checks exhaustively. Polynomials come from `tools/minimax.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, builtin, math
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from kina.passes.emit import Constants, Emitter

# A discardable attribute of `math.exp`: the operand is never above 64 (x - max(x), say).
NONPOSITIVE = "nonpositive"
# Another one: besides, results are only added to a sum that an exp(0) is part of.
SUMMED = "summed"

ONE = 0x3F800000
TWO_POW_23 = 0x4B000000
SMALLEST_NORMAL = 0x00800000  # 2^-126
INFINITY = 0x7F800000
MINUS_INFINITY = 0xFF800000
NAN = 0x7FC00000

# exp: below EXP_LOW the result is 0 (exactly 2^-150.76, which rounds to it), above EXP_HIGH it is
# infinite; below EXP_SUBNORMAL it is less than 2^-126.
EXP_LOW = 0xC2D10000  # -104.5
EXP_HIGH = 0x42B20000  # 89.0
EXP_NEGLIGIBLE = 0xC2AC0000  # -86.0: added to 1, what is less than exp of this changes nothing
EXP_SUBNORMAL = 0xC2AEAC50  # -87.33655
LOG2_E = 0x3FB8AA3B
MINUS_LN2 = 0xBF317218  # the float32 nearest to -ln(2)
MINUS_LN2_REST = 0x3102E308  # -ln(2) minus that
# exp(r) on |r| <= ln(2)/2, constant term first.
EXP_POLYNOMIAL = (ONE, ONE, 0x3EFFFFFE, 0x3E2AAA4A, 0x3D2AAC5F, 0x3C091C2B, 0x3AB51E82)

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


@dataclass(frozen=True)
class Scaling:
    """How exp splits 2^n * p into one factor and the polynomial: 2^(n - shift) * (2^shift * p)."""

    shift: int

    @property
    def magic(self) -> int:
        """1.5 * 2^23 + 127 - shift.

        Added to a small number it rounds it to an integer n, and the low bits of the sum are the
        biased exponent of 2^(n - shift).
        """
        return 0x4B400000 + 127 - self.shift

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
    x = _at_least(emit, x, EXP_LOW)
    if not nonpositive:
        high = emit.bits(EXP_HIGH)
        x = emit.select(emit.compare("olt", high, x), high, x)
    value, exponent = _split(emit, x, SMALL if nonpositive else LARGE)
    if not nonpositive:
        value, exponent = _large_to_small(emit, x, value, exponent)
    return _scale(emit, x, value, exponent)


def expand_summed_exp(emit: Emitter, x: SSAValue) -> SSAValue:
    """exp(x) for x <= 64 or NaN; below -86 it is exp(-86), so that no result is subnormal."""
    value, exponent = _split(emit, _at_least(emit, x, EXP_NEGLIGIBLE), NORMAL)
    return emit.binary(arith.MulfOp, value, _power(emit, exponent))


def _at_least(emit: Emitter, x: SSAValue, bound: int) -> SSAValue:
    """Compares and selects with x last: a NaN fails the comparison and stays."""
    low = emit.bits(bound)
    return emit.select(emit.compare("ogt", low, x), low, x)


def _split(emit: Emitter, x: SSAValue, scaling: Scaling) -> tuple[SSAValue, SSAValue]:
    """2^shift * exp(r), and n as the exponent of 2^(n - shift)."""
    magic = emit.bits(scaling.magic)
    rounded = emit.fma(x, emit.bits(LOG2_E), magic)
    n = emit.binary(arith.SubfOp, rounded, magic)
    # the first step is exact: n*ln2 cancels all but 24 bits of x
    r = emit.fma(n, emit.bits(MINUS_LN2), x)
    r = emit.fma(n, emit.bits(MINUS_LN2_REST), r)
    return emit.horner(r, scaling.polynomial), emit.bitcast(rounded, i32)


def _power(emit: Emitter, exponent: SSAValue) -> SSAValue:
    """2^(exponent - 127)."""
    return emit.bitcast(emit.binary(arith.ShLIOp, exponent, emit.word(23)), f32)


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
    factor = _power(emit, exponent)
    subnormal = emit.compare("olt", x, emit.bits(EXP_SUBNORMAL))
    offset = emit.select(subnormal, emit.bits(SMALLEST_NORMAL), emit.bits(0))
    bits = emit.bitcast(emit.fma(value, factor, offset), i32)
    bits = emit.binary(arith.SubiOp, bits, emit.bitcast(offset, i32))
    return emit.bitcast(bits, f32)


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
    return _log_special(emit, x, _log_sum(emit, e, f))


def _log_sum(emit: Emitter, e: SSAValue, f: SSAValue) -> SSAValue:
    """e*ln(2) + f + f^2*p(f); the rounding error of the first sum is carried into the last."""
    square = emit.binary(arith.MulfOp, f, f)
    tail = emit.horner(f, LOG_POLYNOMIAL)
    head = emit.fma(e, emit.bits(LN2_SCALED), f)
    kept = emit.fma(e, emit.bits(MINUS_LN2_SCALED), head)
    lost = emit.binary(arith.SubfOp, f, kept)
    lost = emit.fma(e, emit.bits(LN2_REST_SCALED), lost)
    return emit.binary(arith.AddfOp, head, emit.fma(square, tail, lost))


def _log_special(emit: Emitter, x: SSAValue, value: SSAValue) -> SSAValue:
    """infinity and NaN give themselves, zeros -infinity, negative numbers NaN."""
    zero = emit.bits(0)
    value = emit.select(emit.compare("olt", x, emit.bits(INFINITY)), value, x)
    is_zero = emit.compare("oeq", x, zero)
    pole = emit.select(is_zero, emit.bits(MINUS_INFINITY), emit.bits(NAN))
    return emit.select(emit.compare("ugt", x, zero), value, pole)


def _expand_noted_exp(emit: Emitter, op: Operation) -> SSAValue:
    x = op.operands[0]
    if SUMMED in op.attributes:
        return expand_summed_exp(emit, x)
    return expand_exp(emit, x, NONPOSITIVE in op.attributes)


Expansion = Callable[[Emitter, Operation], SSAValue]

EXPANSIONS: dict[type[Operation], Expansion] = {
    math.ExpOp: _expand_noted_exp,
    math.LogOp: lambda emit, op: expand_log(emit, op.operands[0]),
}


def _expand_all(module: builtin.ModuleOp, table: dict[type[Operation], Expansion]) -> None:
    """Replaces every float32 op that the table knows."""
    found = [op for op in module.walk() if type(op) in table and op.results[0].type == f32]
    constants: defaultdict[Block | None, Constants] = defaultdict(dict)
    for op in found:
        emit = Emitter(op, constants[op.parent_block()])
        emit.finish(table[type(op)](emit, op))


@dataclass(frozen=True)
class ExpandMath(ModulePass):
    """Expands scalar float32 `math.exp` and `math.log`.

    A `math.exp` that carries the unit attribute `nonpositive` (see `NONPOSITIVE`) gets a shorter
    form with the same bits; with `summed`, one whose tiniest results are larger. Ops on other
    types are left alone: small floats are widened before.
    Seed 9 (log_softmax).
    """

    name = "expand-math"

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        """Rewrites the module in place."""
        _expand_all(op, EXPANSIONS)
