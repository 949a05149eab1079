"""What elementwise operations do to scalars: one operation of MLIR, or a form of several.

Nothing here is undefined behaviour for any operands.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import AnyFloat, IntegerType, f32, f64, i1, i32
from xdsl.ir import Attribute, Operation, SSAValue

from kina.dtypes import DType
from kina.ops import Op
from kina.passes.builder import Builder

SCALAR_OPS: dict[str, type[Operation]] = {
    op.name: op for op in (*arith.Arith.operations, *math.Math.operations)
}
"""The scalar operations that the op table may name."""

Form = Callable[[Builder, DType, Sequence[SSAValue]], SSAValue]
"""From operands of a dtype to the value of an operation."""


def scalar(
    inner: Builder,
    op: Op,
    dtype: DType,
    operands: Sequence[SSAValue],
    notes: Mapping[str, Attribute],
) -> SSAValue:
    """The operation on scalars of one dtype, in its compute type."""
    name = op.scalar_op(dtype)
    if not name:
        return FORMS[op.name](inner, dtype, operands)
    made = SCALAR_OPS[name].create(
        operands=operands, result_types=[operands[0].type], attributes=notes
    )
    return inner.value(made)


def _negated(inner: Builder, dtype: DType, operands: Sequence[SSAValue]) -> SSAValue:
    """An integer is negated by subtracting it from 0."""
    zero = inner.integer(0, IntegerType(dtype.bits))
    return inner.value(arith.SubiOp(zero, operands[0]))


def _inverted(inner: Builder, dtype: DType, operands: Sequence[SSAValue]) -> SSAValue:
    return inner.value(arith.XOrIOp(operands[0], inner.integer(1, i1)))


def _comparison(relation: str) -> Form:
    def form(inner: Builder, dtype: DType, operands: Sequence[SSAValue]) -> SSAValue:
        return inner.compare(_predicate(relation, dtype), *operands)

    return form


def _predicate(relation: str, dtype: DType) -> str:
    """MLIR's word for a relation: `u` of a float is true for NaN, `s` and `u` say the signs."""
    if dtype.is_float:
        return f"u{relation}" if relation == "ne" else f"o{relation}"
    if relation in ("eq", "ne"):
        return relation
    return f"s{relation}" if dtype.is_int else f"u{relation}"


def _quotient(inner: Builder, dtype: DType, operands: Sequence[SSAValue]) -> SSAValue:
    """Toward zero; 0 where the divisor is 0; the lowest integer over -1 wraps to itself."""
    left, right = operands
    type_ = IntegerType(dtype.bits)
    zero, one = inner.integer(0, type_), inner.integer(1, type_)
    is_zero = inner.compare("eq", right, zero)
    negates = inner.compare("eq", right, inner.integer(-1, type_))
    special = inner.value(arith.OrIOp(is_zero, negates))
    quotient = _divided(inner, dtype.bits, left, inner.select(special, one, right))
    quotient = inner.select(negates, inner.value(arith.SubiOp(zero, left)), quotient)
    return inner.select(is_zero, zero, quotient)


def _divided(inner: Builder, bits: int, left: SSAValue, right: SSAValue) -> SSAValue:
    """Toward zero, by a divisor that is not 0 or -1.

    No processor has lanes that divide integers. A float with more than twice their digits gives
    the same: a quotient that is no integer is further from the next one than rounding goes.
    """
    if bits > 32:
        return inner.value(arith.DivSIOp(left, right))
    wide: AnyFloat = f32 if bits <= 16 else f64
    top, bottom = (
        inner.value(arith.SIToFPOp(_as_i32(inner, value), wide)) for value in (left, right)
    )
    quotient = inner.value(arith.DivfOp(top, bottom))
    whole = inner.value(arith.FPToSIOp(quotient, i32))
    return whole if bits == 32 else inner.value(arith.TruncIOp(whole, IntegerType(bits)))


def _as_i32(inner: Builder, value: SSAValue) -> SSAValue:
    narrow = cast(IntegerType, value.type).width.data < 32
    return inner.value(arith.ExtSIOp(value, i32)) if narrow else value


def _remainder(inner: Builder, dtype: DType, operands: Sequence[SSAValue]) -> SSAValue:
    """What truncating division leaves; 0 where the divisor is 0."""
    left, right = operands
    zero = inner.integer(0, IntegerType(dtype.bits))
    product = inner.value(arith.MuliOp(_quotient(inner, dtype, operands), right))
    rest = inner.value(arith.SubiOp(left, product))
    return inner.select(inner.compare("eq", right, zero), zero, rest)


def _shifted_left(inner: Builder, dtype: DType, operands: Sequence[SSAValue]) -> SSAValue:
    """0 where the count is negative or at least the width."""
    left, count = operands
    type_ = IntegerType(dtype.bits)
    shifted = inner.value(arith.ShLIOp(left, _within(inner, type_, count)))
    fits = inner.compare("ult", count, inner.integer(dtype.bits, type_))
    return inner.select(fits, shifted, inner.integer(0, type_))


def _shifted_right(inner: Builder, dtype: DType, operands: Sequence[SSAValue]) -> SSAValue:
    """All signs where the count is negative or at least the width."""
    left, count = operands
    return inner.value(arith.ShRSIOp(left, _within(inner, IntegerType(dtype.bits), count)))


def _within(inner: Builder, type_: IntegerType, count: SSAValue) -> SSAValue:
    """A count that shifts may have: at most the width less one, also for a negative one."""
    return inner.value(arith.MinUIOp(count, inner.integer(type_.width.data - 1, type_)))


FORMS: dict[str, Form] = {
    "neg": _negated,
    "div": _quotient,
    "rem": _remainder,
    "shift_left": _shifted_left,
    "shift_right": _shifted_right,
    "logical_not": _inverted,
    "equal": _comparison("eq"),
    "not_equal": _comparison("ne"),
    "less": _comparison("lt"),
    "less_equal": _comparison("le"),
    "greater": _comparison("gt"),
    "greater_equal": _comparison("ge"),
}
"""What several scalar operations do, or one that depends on the dtype, by the operation's name."""
