"""Gradients of broadcast and reshape."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from kina.dialects.shaping import BroadcastOp, ReshapeOp
from kina.passes.tensor_builder import type_of
from kina.passes.vjp.builder import GradientBuilder, Partial
from kina.types import Dim


def reshape(b: GradientBuilder, op: ReshapeOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct` in the operand's shape."""
    return [lambda: b.emit(ReshapeOp(ct, type_of(op.operand).dims))]


def broadcast(b: GradientBuilder, op: BroadcastOp, ct: SSAValue) -> Sequence[Partial]:
    """The sum over every axis that repeats elements, the last one first; it rounds once."""
    source = type_of(op.operand)

    def summed() -> SSAValue:
        total = ct
        for axis, kept in repeated_axes(source.dims, op.kina_type.dims):
            wide = b.widen(total)
            total = b.total_keep(wide, axis) if kept else b.total(wide, axis)
        return b.cast(total, source.dtype)

    return [summed]


def repeated_axes(source: Sequence[Dim], target: Sequence[Dim]) -> list[tuple[int, bool]]:
    """The target's axes to sum over, the last first, and whether the source has them as 1."""
    pad = len(target) - len(source)
    axes = reversed(range(len(target)))
    return [
        (axis, axis >= pad)
        for axis in axes
        if axis < pad or (source[axis - pad] == 1 and target[axis] != 1)
    ]
