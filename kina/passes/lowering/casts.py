"""`kina.cast`: every pair of dtypes, as scalar arithmetic in one elementwise generic.

Floats to integers truncate toward zero and saturate, NaN gives 0; integers wrap; integers to a
small float round once; to Bool is `x != 0` (NaN is true).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType, f32
from xdsl.ir import SSAValue

from kina.dialects.elementwise import CastOp
from kina.dtypes import BF16, DType, Kind
from kina.passes.builder import Builder
from kina.passes.lowering.context import Lowering
from kina.passes.lowering.elementwise import elementwise
from kina.passes.lowering.storage import load, store

F32_DIGITS = 24

SMALL_OVERFLOW = 1 << 17
"""Larger than every finite F16 and F8, and exact in F32."""

Convert = Callable[[Builder, DType, DType, SSAValue], SSAValue]


def lower_cast(state: Lowering, op: CastOp) -> None:
    """Lower a cast; one to the same dtype is no operation."""
    (source,), target = op.kina_operand_types(), op.kina_type.dtype
    if source.dtype is target:
        state.alias(op.result, op.operand)
        return
    convert = _CONVERSIONS[source.dtype.kind, target.kind]

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        value = load(inner, source.dtype, elements[0])
        return [store(inner, target, convert(inner, source.dtype, target, value))]

    elementwise(state, op, body)


def _same(body: Builder, source: DType, target: DType, value: SSAValue) -> SSAValue:
    return value


def _float_to_int(body: Builder, source: DType, target: DType, value: SSAValue) -> SSAValue:
    """`arith.fptosi` is poison out of range and for NaN, so it only sees values within."""
    wide = max(target.bits, 32)
    type_ = IntegerType(wide)
    limit = float(1 << (target.bits - 1))
    low, high = body.real(-limit, f32), body.real(limit, f32)
    above = body.compare("oge", value, high)
    below = body.compare("olt", value, low)
    inside = body.value(
        arith.AndIOp(body.compare("olt", value, high), body.compare("oge", value, low))
    )
    safe = body.select(inside, value, body.real(0.0, f32))
    result = body.value(arith.FPToSIOp(safe, type_))
    result = body.select(above, body.integer(int(target.highest), type_), result)
    result = body.select(below, body.integer(int(target.lowest), type_), result)
    return resize(body, result, target.bits)


def _float_to_bool(body: Builder, source: DType, target: DType, value: SSAValue) -> SSAValue:
    return body.compare("une", value, body.real(0.0, f32))


def _int_to_float(body: Builder, source: DType, target: DType, value: SSAValue) -> SSAValue:
    """`store` rounds to a small float, so the F32 before it must lose nothing that matters."""
    if target.is_small_float and source.bits > F32_DIGITS:
        shorten = _squash if target is BF16 else _clamp
        value = shorten(body, source.bits, value)
    if source.bits < 32:
        value = resize(body, value, 32)
    return body.value(arith.SIToFPOp(value, f32))


def _clamp(body: Builder, bits: int, value: SSAValue) -> SSAValue:
    """Past the overflow of F16 and F8 all integers round alike; those before are exact in F32."""
    type_ = IntegerType(bits)
    value = body.value(arith.MinSIOp(value, body.integer(SMALL_OVERFLOW, type_)))
    return body.value(arith.MaxSIOp(value, body.integer(-SMALL_OVERFLOW, type_)))


def _squash(body: Builder, bits: int, value: SSAValue) -> SSAValue:
    """Keep 11 digits or more and whether anything was below them: enough to round to BF16 once."""
    for start in range(F32_DIGITS, bits - 1, F32_DIGITS - 11):
        value = _squash_from(body, IntegerType(bits), start, value)
    return value


def _squash_from(body: Builder, type_: IntegerType, start: int, value: SSAValue) -> SSAValue:
    """Where |value| >= 2^start, turn its lowest digits into one sticky digit."""
    count = start - 11
    digit = body.integer(1 << count, type_)
    below = body.integer((1 << count) - 1, type_)
    zero = body.integer(0, type_)
    rest = body.value(arith.AndIOp(value, below))
    kept = body.value(arith.SubiOp(value, rest))
    sticky = body.value(arith.OrIOp(kept, digit))
    squashed = body.select(body.compare("ne", rest, zero), sticky, kept)
    magnitude = body.value(arith.ShRSIOp(value, body.integer(start, type_)))
    # 0 and -1 are what is left of the small ones
    moved = body.value(arith.AddiOp(magnitude, body.integer(1, type_)))
    small = body.compare("ult", moved, body.integer(2, type_))
    return body.select(small, value, squashed)


def _int_to_int(body: Builder, source: DType, target: DType, value: SSAValue) -> SSAValue:
    return resize(body, value, target.bits)


def resize(body: Builder, value: SSAValue, bits: int) -> SSAValue:
    """A signed integer with another width; it wraps."""
    width = cast(IntegerType, value.type).width.data
    if width == bits:
        return value
    op = arith.TruncIOp if width > bits else arith.ExtSIOp
    return body.value(op(value, IntegerType(bits)))


def _int_to_bool(body: Builder, source: DType, target: DType, value: SSAValue) -> SSAValue:
    return body.compare("ne", value, body.integer(0, IntegerType(source.bits)))


def _bool_to_float(body: Builder, source: DType, target: DType, value: SSAValue) -> SSAValue:
    return body.value(arith.UIToFPOp(value, f32))


def _bool_to_int(body: Builder, source: DType, target: DType, value: SSAValue) -> SSAValue:
    return body.value(arith.ExtUIOp(value, IntegerType(target.bits)))


_CONVERSIONS: dict[tuple[Kind, Kind], Convert] = {
    (Kind.FLOAT, Kind.FLOAT): _same,
    (Kind.FLOAT, Kind.INT): _float_to_int,
    (Kind.FLOAT, Kind.BOOL): _float_to_bool,
    (Kind.INT, Kind.FLOAT): _int_to_float,
    (Kind.INT, Kind.INT): _int_to_int,
    (Kind.INT, Kind.BOOL): _int_to_bool,
    (Kind.BOOL, Kind.FLOAT): _bool_to_float,
    (Kind.BOOL, Kind.INT): _bool_to_int,
}
