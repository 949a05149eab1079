"""top_k: the places of the largest elements, in order; and reads and writes at such places.

An element becomes an integer of the same order, its key: in a walk of keys a new one goes down a
sorted list, and pushes out what is less. That is short and slow: schedule-cpu knows the form, and
does it another way (`kernels/selection.py`). Keys and places together differ, so every way gives
the same places.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IndexType, IntegerType, UnitAttr, f32, i32, i64
from xdsl.dialects.linalg.ops import GenericOp, IndexOp
from xdsl.ir import SSAValue

from kina.dialects.selection import PutPlacesOp, TakePlacesOp, TopKOp
from kina.dtypes import DType
from kina.passes.builder import Builder
from kina.passes.lowering.context import Lowering
from kina.passes.lowering.generic import Access, generic, tensor_of, whole
from kina.passes.lowering.layout import source_of
from kina.passes.lowering.loops import nest
from kina.passes.lowering.ordered import BOTTOM, image_with_nan
from kina.passes.lowering.shaping import broadcast_loops
from kina.passes.lowering.storage import load, storage_element
from kina.types import Dim

SELECTS = "selects"
"""A discardable attribute of the `linalg.generic` that keeps sorted lists; no name of ours."""

_NOWHERE = (1 << 63) - 1
"""Behind every place."""


def lower_top_k(state: Lowering, op: TopKOp) -> None:
    """Lower to a walk of all keys, for each of which the whole list is walked.

    What goes down the list is the new key, then each that it pushed out: of equal keys the one of
    the higher place. There are as many elements as k at least, so none of what the list begins
    with is left.
    """
    (operand,), places = op.kina_operand_types(), op.kina_type
    axis, rank = op.axis_value, operand.rank
    if operand.dims[axis] == 1:
        state.bind(op.result, state.filled(0, i64, places.dims))
        return
    keys = _keys(state, op, operand.dtype, operand.dims)
    others = [loop for loop in range(rank) if loop != axis]
    rows = list(range(rank - 1))
    along, slot = rank - 1, rank
    walk, held = dict(zip(others, rows, strict=True)), tuple(rows)
    element = cast(IntegerType, tensor_of(keys).element_type)
    row_dims = tuple(operand.dims[loop] for loop in others)

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        key, moved, moved_place, listed, listed_place = elements
        place = inner.value(arith.IndexCastOp(inner.value(IndexOp(along)), i64))
        is_first = inner.compare("eq", inner.value(IndexOp(slot)), inner.index(0))
        key = inner.select(is_first, key, moved)
        place = inner.select(is_first, place, moved_place)
        above = inner.compare("sgt", key, listed)
        before = inner.value(
            arith.AndIOp(
                inner.compare("eq", key, listed), inner.compare("slt", place, listed_place)
            )
        )
        wins = inner.value(arith.OrIOp(above, before))
        return [
            inner.select(wins, listed, key),
            inner.select(wins, listed_place, place),
            inner.select(wins, key, listed),
            inner.select(wins, place, listed_place),
        ]

    lists = tuple(walk.get(loop, slot) for loop in range(rank))
    outputs = [
        Access(state.filled(0, element, row_dims), held),
        Access(state.filled(0, i64, row_dims), held),
        Access(state.filled(-(1 << (element.width.data - 1)), element, places.dims), lists),
        Access(state.filled(_NOWHERE, i64, places.dims), lists),
    ]
    inputs = [Access(keys, tuple(walk.get(loop, along) for loop in range(rank)))]
    results = generic(state.builder, rank + 1, inputs, outputs, body, {along, slot})
    walk_op = results[-1].owner
    assert isinstance(walk_op, GenericOp)
    walk_op.attributes[SELECTS] = UnitAttr()
    state.bind(op.result, results[-1])


def _keys(state: Lowering, op: TopKOp, dtype: DType, dims: tuple[Dim, ...]) -> SSAValue:
    """Integers in the order of the elements: equal for both zeros, and least for every NaN."""
    if not dtype.is_float:
        return state.value(op.operand)

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        value = load(inner, dtype, elements[0])
        zeroed = inner.value(arith.AddfOp(value, inner.real(0.0, f32)))  # -0.0 becomes +0.0
        return [image_with_nan(inner, zeroed, BOTTOM)]

    output = whole(state.empty(i32, dims))
    return generic(state.builder, len(dims), [state.access(op.operand)], [output], body)[0]


def lower_take_places(state: Lowering, op: TakePlacesOp) -> None:
    """Lower to a read of `values` with the axis replaced by the place.

    Of a window or another order of axes, it is read where that was taken from.
    """
    values, places = op.kina_operand_types()
    axis, type_ = op.axis_value, op.kina_type
    size = values.dims[axis - (places.rank - values.rank)]
    loops = broadcast_loops(values.dims, op.along(places.dims, size))
    original, moved = source_of(state, op.values)
    source = state.value(original)

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        place = inner.value(arith.IndexCastOp(elements[0], IndexType()))
        own = [_index(inner, loop, axis, place) for loop in loops]
        at = moved(inner, own)
        return [inner.value(tensor.ExtractOp(source, at, tensor_of(source).element_type))]

    inputs, output = [state.access(op.places)], whole(state.empty_like(type_))
    state.bind(op.result, generic(state.builder, type_.rank, inputs, [output], body)[0])


def _index(inner: Builder, loop: int | None, axis: int, place: SSAValue) -> SSAValue:
    if loop is None:
        return inner.index(0)
    return place if loop == axis else inner.value(IndexOp(loop))


def lower_put_places(state: Lowering, op: PutPlacesOp) -> None:
    """Lower to zeros, over which each update is written at its place; they never meet.

    decompose-kina widens small floats.
    """
    places = op.kina_operand_types()[1]
    element = storage_element(op.kina_type.dtype)
    start = state.filled(0.0, element, op.kina_type.dims)
    write = partial(_put, state, op)
    state.bind(op.result, nest(state, state.builder, places.dims, [], start, write))


def _put(
    state: Lowering,
    op: PutPlacesOp,
    inner: Builder,
    at: Sequence[SSAValue],
    written: SSAValue,
) -> SSAValue:
    place = inner.value(tensor.ExtractOp(state.value(op.places), at, i64))
    update = inner.value(
        tensor.ExtractOp(state.value(op.updates), at, tensor_of(written).element_type)
    )
    target = list(at)
    target[op.axis_value] = inner.value(arith.IndexCastOp(place, IndexType()))
    return inner.value(tensor.InsertOp(update, written, target))
