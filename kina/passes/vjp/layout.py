"""Gradients of transpose, slice, concat and update; those of windows are windows.

The forward operation stands before its gradient, so the starts have been checked.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from kina.dialects.layout import (
    ConcatOp,
    OverwriteOp,
    SizeOp,
    SliceLike,
    TransposeOp,
    UpdateLike,
    WindowOp,
)
from kina.dims import Dim, add
from kina.passes.tensor_builder import type_of
from kina.passes.vjp.builder import GradientBuilder, Partial


def transpose(b: GradientBuilder, op: TransposeOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct` in the operand's order of axes."""
    axes = op.axes_values
    return [lambda: b.emit(TransposeOp(ct, [axes.index(axis) for axis in range(len(axes))]))]


def slice_(b: GradientBuilder, op: SliceLike, ct: SSAValue) -> Sequence[Partial]:
    """`ct` in the window, zero elsewhere."""
    whole = type_of(op.operand)

    def operand() -> SSAValue:
        return b.emit(OverwriteOp(b.number(0.0, whole), ct, op.start, op.axis_value))

    return [operand, None]


def concat(b: GradientBuilder, op: ConcatOp, ct: SSAValue) -> Sequence[Partial]:
    """Each input's part of `ct`."""
    axis, parts = op.axis_value, list[Partial]()
    start: Dim = 0
    for operand in op.inputs:
        size = type_of(operand).dims[axis]
        parts.append(_part(b, ct, axis, start, size))
        start = add(start, size)
    return parts


def _part(b: GradientBuilder, ct: SSAValue, axis: int, start: Dim, size: Dim) -> Partial:
    return lambda: b.emit(WindowOp(ct, b.emit(SizeOp(start)), axis, size))


def update(b: GradientBuilder, op: UpdateLike, ct: SSAValue) -> Sequence[Partial]:
    """`ct` with zeros in the window; for `new` what `ct` has there."""
    new, axis = type_of(op.new), op.axis_value
    return [
        lambda: b.emit(OverwriteOp(ct, b.number(0.0, new), op.at, axis)),
        lambda: b.emit(WindowOp(ct, op.at, axis, new.dims[axis])),
        None,
    ]
