"""Gradients of elementwise operations and casts."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from kina.dialects.elementwise import (
    AddOp,
    CastOp,
    DivOp,
    ExpOp,
    LogOp,
    MulOp,
    NegOp,
    SqrtOp,
    SubOp,
)
from kina.passes.vjp.builder import GradientBuilder, Partial, type_of


def neg(b: GradientBuilder, op: NegOp, ct: SSAValue) -> Sequence[Partial]:
    """`-ct`."""
    return [lambda: b.neg(ct)]


def exp(b: GradientBuilder, op: ExpOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct * y`."""
    return [lambda: b.cast(b.mul(b.widen(ct), b.wide_result(op)), type_of(ct).dtype)]


def log(b: GradientBuilder, op: LogOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct / x`."""
    return [lambda: b.div(ct, op.operand)]


def sqrt(b: GradientBuilder, op: SqrtOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct / (y + y)`: the sum is exact."""

    def operand() -> SSAValue:
        result = b.wide_result(op)
        share = b.div(b.widen(ct), b.add(result, result))
        return b.cast(share, type_of(ct).dtype)

    return [operand]


def add(b: GradientBuilder, op: AddOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct`, twice."""
    return [lambda: ct, lambda: ct]


def sub(b: GradientBuilder, op: SubOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct` and `-ct`."""
    return [lambda: ct, lambda: b.neg(ct)]


def mul(b: GradientBuilder, op: MulOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct` times the other operand."""
    return [lambda: b.mul(ct, op.right), lambda: b.mul(ct, op.left)]


def div(b: GradientBuilder, op: DivOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct / r`, and `-(ct / r) * (l / r)`."""

    def right() -> SSAValue:
        quotient = b.div(b.widen(ct), b.widen(op.right))
        share = b.neg(b.mul(quotient, b.wide_result(op)))
        return b.cast(share, type_of(ct).dtype)

    return [lambda: b.div(ct, op.right), right]


def cast(b: GradientBuilder, op: CastOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct` in the operand's dtype; only floats come here."""
    return [lambda: b.cast(ct, type_of(op.operand).dtype)]
