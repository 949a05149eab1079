"""`expand-small-floats`: conversions between 8- and 16-bit floats and f32 as integer arithmetic.

LLVM has no 8-bit floats on CPUs, x86's bfloat16 instruction flushes subnormals, and elsewhere it
calls a libgcc function that may not link. What comes out here rounds once to nearest even, is
exact for every input, has no branch or call, vectorises, and is the same on every target.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, builtin
from xdsl.dialects.builtin import IntegerType, bf16, f16, f32, i32
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.passes import ModulePass

from kina.frozen import frozen
from kina.passes.emit import Constants, Emitter
from kina.passes.retype import retype

F32_MANTISSA = 23
F32_BIAS = 127
F32_INFINITY = 0x7F800000
F32_QUIET_NAN = 0x7FC00000


@frozen
class Format:
    """A binary floating-point format of at most 16 bits, with a sign."""

    width: int
    mantissa: int
    bias: int
    infinity: int | None
    """The code of +infinity, or None if the format has none."""
    nan: int
    """The code of the canonical NaN; without infinity also the first code past the largest."""

    @property
    def sign(self) -> int:
        """The sign bit."""
        return 1 << (self.width - 1)

    @property
    def drop(self) -> int:
        """How many mantissa bits of f32 the format lacks."""
        return F32_MANTISSA - self.mantissa

    @property
    def rebias(self) -> int:
        """What turns a biased exponent of the format into one of f32, in place."""
        return (F32_BIAS - self.bias) << F32_MANTISSA

    @property
    def smallest_normal(self) -> int:
        """The f32 bits of the smallest normal number."""
        return self.rebias + (1 << F32_MANTISSA)

    @property
    def rounder(self) -> int:
        """The f32 bits of the number whose last bit weighs as much as the smallest subnormal."""
        return self.smallest_normal + (self.drop << F32_MANTISSA)


BF16 = Format(width=16, mantissa=7, bias=127, infinity=0x7F80, nan=0x7FC0)
F16 = Format(width=16, mantissa=10, bias=15, infinity=0x7C00, nan=0x7E00)
FORMATS: dict[Attribute, Format] = {
    bf16: BF16,
    f16: F16,
    builtin.Float8E4M3FNType(): Format(width=8, mantissa=3, bias=7, infinity=None, nan=0x7F),
    builtin.Float8E5M2Type(): Format(width=8, mantissa=2, bias=15, infinity=0x7C, nan=0x7E),
}


class Converter(Emitter):
    """An emitter of conversions."""

    def mask(self, value: SSAValue, bits: int) -> SSAValue:
        """`value & bits`."""
        return self.binary(arith.AndIOp, value, self.word(bits))

    def left(self, value: SSAValue, count: int) -> SSAValue:
        """`value << count`."""
        return self.binary(arith.ShLIOp, value, self.word(count))

    def right(self, value: SSAValue, count: int) -> SSAValue:
        """`value >> count`, with zeros shifted in."""
        return self.binary(arith.ShRUIOp, value, self.word(count))

    def plus(self, value: SSAValue, constant: int) -> SSAValue:
        """`value + constant`, wrapping."""
        return self.binary(arith.AddiOp, value, self.word(constant))

    def where(
        self, predicate: str, value: SSAValue, limit: int, yes: SSAValue, no: SSAValue
    ) -> SSAValue:
        """`yes` where `value` compares so with `limit`, else `no`."""
        return self.select(self.compare(predicate, value, self.word(limit)), yes, no)


def extend(emit: Converter, value: SSAValue, form: Format) -> SSAValue:
    """The f32 equal to a small float."""
    code = emit.bitcast(value, IntegerType(form.width))
    code = emit.value(arith.ExtUIOp(code, i32))
    if form == BF16:
        return emit.bitcast(emit.left(code, form.width), f32)
    magnitude = emit.mask(code, form.sign - 1)
    sign = emit.left(emit.mask(code, form.sign), 32 - form.width)
    placed = emit.left(magnitude, form.drop)
    bits = _extend_finite(emit, magnitude, placed, form)
    if form.infinity is None:
        bits = emit.where("eq", magnitude, form.nan, emit.word(F32_QUIET_NAN), bits)
    else:
        special = emit.binary(arith.OrIOp, placed, emit.word(F32_INFINITY))
        bits = emit.where("uge", magnitude, form.infinity, special, bits)
    return emit.bitcast(emit.binary(arith.OrIOp, bits, sign), f32)


def _extend_finite(
    emit: Converter, magnitude: SSAValue, placed: SSAValue, form: Format
) -> SSAValue:
    """The f32 bits of a finite magnitude whose fields are in the places that f32 has them in.

    A subnormal m * 2^(1 - bias) is (1 + m) * 2^(1 - bias) minus 2^(1 - bias), exactly. That is
    faster than a product with a subnormal float32.
    """
    normal = emit.plus(placed, form.rebias)
    raised = emit.bitcast(emit.plus(placed, form.smallest_normal), f32)
    difference = emit.binary(arith.SubfOp, raised, emit.bits(form.smallest_normal))
    subnormal = emit.bitcast(difference, i32)
    return emit.where("ult", magnitude, 1 << form.mantissa, subnormal, normal)


def truncate(emit: Converter, value: SSAValue, form: Format) -> SSAValue:
    """The small float nearest to an f32, ties to even. As an integer of the format's width."""
    bits = emit.bitcast(value, i32)
    if form == BF16:
        code = _upper_half(emit, value, bits)
        return emit.value(arith.TruncIOp(code, IntegerType(form.width)))
    magnitude = emit.mask(bits, 0x7FFFFFFF)
    sign = emit.mask(emit.right(bits, 32 - form.width), form.sign)
    code = _round(emit, magnitude, form)
    if form.infinity is not None:
        nan = emit.word(form.nan)
        code = emit.where("ugt", magnitude, F32_INFINITY, nan, code)
    code = emit.binary(arith.OrIOp, code, sign)
    return emit.value(arith.TruncIOp(code, IntegerType(form.width)))


def _upper_half(emit: Converter, value: SSAValue, bits: SSAValue) -> SSAValue:
    """The code of BF16: it has the sign and the exponents of f32, so any number rounds as bits."""
    upper = emit.right(bits, BF16.drop)
    last = emit.mask(upper, 1)
    raised = emit.plus(emit.binary(arith.AddiOp, bits, last), (1 << (BF16.drop - 1)) - 1)
    nan = emit.binary(arith.OrIOp, emit.mask(upper, BF16.sign), emit.word(BF16.nan))
    is_nan = emit.compare("uno", value, value)
    return emit.select(is_nan, nan, emit.right(raised, BF16.drop))


def _round(emit: Converter, magnitude: SSAValue, form: Format) -> SSAValue:
    """The code of a magnitude, NaN excepted where the format has infinities.

    A carry out of the mantissa moves into the exponent, as it should. Past the largest number
    the code is capped at infinity, or at the NaN that follows the largest number.
    """
    last = emit.mask(emit.right(magnitude, form.drop), 1)
    almost_half = (1 << (form.drop - 1)) - 1
    raised = emit.plus(emit.binary(arith.AddiOp, magnitude, last), almost_half - form.rebias)
    code = emit.right(raised, form.drop)
    cap = form.nan if form.infinity is None else form.infinity
    code = emit.binary(arith.MinUIOp, code, emit.word(cap))
    # adding a large power of two rounds a subnormal to its last place
    rounder = emit.bits(form.rounder)
    rounded = emit.binary(arith.AddfOp, emit.bitcast(magnitude, f32), rounder)
    subnormal = emit.plus(emit.bitcast(rounded, i32), -form.rounder)
    return emit.where("ult", magnitude, form.smallest_normal, subnormal, code)


@dataclass(frozen=True)
class ExpandSmallFloats(ModulePass):
    """Expands scalar `arith.extf` to f32 and `arith.truncf` from f32.

    For F8E4M3, F8E5M2 and BF16 always; for F16 if `f16` is set (targets without an exact
    instruction, such as x86-64-v2). Codes are those of ml_dtypes and NumPy for all inputs.
    After that nothing computes on these types, and integers of their width take their place
    everywhere: moved as a bfloat16, a value costs a call of libgcc on most CPUs. Arithmetic and
    comparisons on these types are not expanded: widen to f32 before.
    """

    name = "expand-small-floats"

    f16: bool = False

    def apply(self, ctx: Context, op: builtin.ModuleOp) -> None:
        """Rewrites the module in place."""
        formats = {kind: form for kind, form in FORMATS.items() if self.f16 or kind != f16}
        found = [o for o in op.walk() if isinstance(o, arith.ExtFOp | arith.TruncFOp)]
        constants: defaultdict[Block | None, Constants] = defaultdict(dict)
        for conversion in found:
            source, result = conversion.input.type, conversion.result.type
            shared = constants[conversion.parent_block()]
            if result == f32 and source in formats:
                emit = Converter(conversion, shared)
                emit.finish(extend(emit, conversion.input, formats[source]))
            elif source == f32 and result in formats:
                emit = Converter(conversion, shared)
                code = truncate(emit, conversion.input, formats[result])
                emit.finish(emit.bitcast(code, result))
        retype(op, {kind: IntegerType(form.width) for kind, form in formats.items()})
