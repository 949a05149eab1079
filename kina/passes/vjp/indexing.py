"""Gradients of indexing; and of the operations that these gradients are made of.

The forward operation stands before its gradient, so the indices have been checked.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from kina.dialects.indexing import GatherOp, SelectAlongAxisOp, TakeAlongAxisOp
from kina.dialects.internal import ScatterAddOp, ScatterAlongAxisOp
from kina.passes.tensor_builder import type_of
from kina.passes.vjp.builder import GradientBuilder, Partial


def take_along_axis(
    b: GradientBuilder, op: TakeAlongAxisOp | SelectAlongAxisOp, ct: SSAValue
) -> Sequence[Partial]:
    """`ct` at the index, zero elsewhere."""
    size = type_of(op.values).dims[op.axis_value]
    return [lambda: b.emit(ScatterAlongAxisOp(ct, op.indices, op.axis_value, size)), None]


def gather(b: GradientBuilder, op: GatherOp, ct: SSAValue) -> Sequence[Partial]:
    """For each row, the sum of the cotangents of its copies."""
    size = type_of(op.values).dims[0]
    return [lambda: b.emit(ScatterAddOp(ct, op.indices, size)), None]


def scatter_along_axis(
    b: GradientBuilder, op: ScatterAlongAxisOp, ct: SSAValue
) -> Sequence[Partial]:
    """The elements of `ct` at the indices."""
    return [lambda: b.emit(SelectAlongAxisOp(ct, op.indices, op.axis_value)), None]


def scatter_add(b: GradientBuilder, op: ScatterAddOp, ct: SSAValue) -> Sequence[Partial]:
    """The rows of `ct` at the indices."""
    return [lambda: b.emit(GatherOp(ct, op.indices)), None]
