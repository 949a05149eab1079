"""Gradients of scans: scans from the other end."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from kina.dialects.scan import CumsumOp, RecurrenceOp, ReverseOp
from kina.passes.tensor_builder import type_of
from kina.passes.vjp.builder import GradientBuilder, Partial


def cumsum(b: GradientBuilder, op: CumsumOp, ct: SSAValue) -> Sequence[Partial]:
    """For each element the sum of `ct` from there on, the last element first."""

    def operand() -> SSAValue:
        total = CumsumOp(reversed_of(b, b.widen(ct), op.axis_value), op.axis_value)
        return b.cast(reversed_of(b, b.emit(total), op.axis_value), type_of(ct).dtype)

    return [operand]


def reverse(b: GradientBuilder, op: ReverseOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct`, reversed."""
    return [lambda: reversed_of(b, ct, op.axis_value)]


def recurrence(b: GradientBuilder, op: RecurrenceOp, ct: SSAValue) -> Sequence[Partial]:
    """With q the gradient of the state behind each element: `q * y` and `q`.

    q is a recurrence with the same factors, from the end, which adds `ct`.
    """

    def behind() -> SSAValue:
        factors, terms = (reversed_of(b, value, op.axis_value) for value in (op.factors, ct))
        return reversed_of(b, b.emit(RecurrenceOp(factors, terms, op.axis_value, 0)), op.axis_value)

    return [lambda: b.mul(behind(), op.result), behind]


def products_of_others(b: GradientBuilder, value: SSAValue, axis: int) -> SSAValue:
    """For each element of F32 the product of all others of its fiber: no division, so zeros count.

    The product of those before it, first element first, times that of those behind it, last first.
    """
    nothing = b.number(-0.0, type_of(value))
    before = b.emit(RecurrenceOp(value, nothing, axis, 1))
    behind = b.emit(RecurrenceOp(reversed_of(b, value, axis), nothing, axis, 1))
    return b.mul(before, reversed_of(b, behind, axis))


def reversed_of(b: GradientBuilder, value: SSAValue, axis: int) -> SSAValue:
    """`value`, the last element of each fiber first."""
    return b.emit(ReverseOp(value, axis))
