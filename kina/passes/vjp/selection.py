"""Gradients of top_k: of its values alone, since places are integers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from xdsl.ir import SSAValue

from kina.dialects.selection import PutPlacesOp, TakePlacesOp
from kina.dtypes import BOOL, F32
from kina.passes.tensor_builder import type_of
from kina.passes.vjp.builder import GradientBuilder, Partial, Share


def take_places(b: GradientBuilder, op: TakePlacesOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct` at the places; what was not taken gets exact zeros, and counts no further."""
    size = type_of(op.values).dims[op.axis_value]

    def put(updates: SSAValue) -> SSAValue:
        return b.emit(PutPlacesOp(updates, op.places, op.axis_value, size))

    @cache
    def taken() -> SSAValue:
        return b.cast(put(b.number(1.0, type_of(ct).with_dtype(F32))), BOOL)

    return [lambda: Share(put(ct), taken), None]


def put_places(b: GradientBuilder, op: PutPlacesOp, ct: SSAValue) -> Sequence[Partial]:
    """The elements of `ct` at the places."""
    return [lambda: b.emit(TakePlacesOp(ct, op.places, op.axis_value)), None]
