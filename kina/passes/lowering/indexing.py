"""Checked indexing: one flag for all indices, one assertion on it, then a plain gather (seed 9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, cf, tensor
from xdsl.dialects.builtin import IndexType, i8, i64
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import SSAValue

from kina.dialects.base import KinaOp
from kina.dialects.indexing import CheckIndicesOp, GatherOp, SelectAlongAxisOp, TakeAlongAxisOp
from kina.dialects.types import from_ir
from kina.passes.builder import Builder
from kina.passes.lowering.context import Lowering
from kina.passes.lowering.generic import Access, generic, tensor_of, whole
from kina.passes.lowering.layout import source_of
from kina.passes.lowering.places import prefix
from kina.passes.lowering.shaping import broadcast_loops
from kina.types import Dim

Coordinates = Callable[[Builder, SSAValue], list[SSAValue]]
"""From a checked index to the coordinates in the values."""


def lower_take_along_axis(state: Lowering, op: TakeAlongAxisOp) -> None:
    """Lower to a check and a selection."""
    size = op.kina_operand_types()[0].dims[op.axis_value]
    check(state, op.indices, size, f"take_along_axis: {{}} (axis {op.axis_value})")
    lower_select_along_axis(state, op)


def lower_check_indices(state: Lowering, op: CheckIndicesOp) -> None:
    """Lower the check of a take_along_axis that simplify-kina split."""
    check(state, op.indices, op.size_value, f"take_along_axis: {{}} (axis {op.axis_value})")


def lower_select_along_axis(state: Lowering, op: TakeAlongAxisOp | SelectAlongAxisOp) -> None:
    """Lower to a read of `values` with the axis replaced by the index.

    A split selection broadcasts its values: where they have size 1, their coordinate is 0.
    """
    values, indices = op.kina_operand_types()
    axis = op.axis_value
    size = values.dims[axis - (indices.rank + 1 - values.rank)]
    places = broadcast_loops(values.dims, (*indices.dims[:axis], size, *indices.dims[axis:]))

    def coordinates(inner: Builder, index: SSAValue) -> list[SSAValue]:
        return [index if place == axis else _coordinate(inner, place, axis) for place in places]

    _select(state, op, op.values, op.indices, coordinates)


def _coordinate(inner: Builder, place: int | None, axis: int) -> SSAValue:
    """The loop that stands at `place` of the values' shape, where `axis` has no loop."""
    if place is None:
        return inner.index(0)
    return inner.value(IndexOp(place if place < axis else place - 1))


def lower_gather(state: Lowering, op: GatherOp) -> None:
    """Lower to a check and a read of row `index` of the table."""
    table, indices = op.kina_operand_types()
    check(state, op.indices, table.dims[0], "gather: {} (axis 0)")

    def coordinates(inner: Builder, index: SSAValue) -> list[SSAValue]:
        return [index, inner.value(IndexOp(indices.rank))]

    _select(state, op, op.values, op.indices, coordinates)


def check(state: Lowering, indices: SSAValue, size: Dim, message: str) -> None:
    """Assert that every index is in `0 .. size-1`; `message` has a gap for what is wrong."""
    flag = _all_inside(state, indices, _as_i64(state, size))
    bit = state.builder.value(tensor.ExtractOp(flag, [], i8))
    good = state.builder.compare("ne", bit, state.builder.integer(0, i8))
    last = size - 1 if isinstance(size, int) else f"{size}-1"
    text = message.format(f"index out of range 0 .. {last}")
    state.builder.append(cf.AssertOp(good, prefix(state.builder.location) + text))


def _as_i64(state: Lowering, size: Dim) -> SSAValue:
    if isinstance(size, int):
        return state.builder.integer(size, i64)
    return state.builder.value(arith.IndexCastOp(state.size(size), i64))


def _all_inside(state: Lowering, indices: SSAValue, size: SSAValue) -> SSAValue:
    """1 if every index is below `size`, compared as unsigned: a negative one is far above."""
    rank = from_ir(indices.type).rank

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        inside = inner.value(arith.ExtUIOp(inner.compare("ult", elements[0], size), i8))
        return [inner.value(arith.AndIOp(elements[1], inside))]

    start = Access(state.filled(1, i8, ()), ())
    return generic(state.builder, rank, [state.access(indices)], [start], body, range(rank))[0]


def _select(
    state: Lowering, op: KinaOp, values: SSAValue, indices: SSAValue, coordinates: Coordinates
) -> None:
    """Read one element of `values` for each element of the result.

    Of a window or another order of axes, it is read where that was taken from.
    """
    type_ = op.kina_type
    original, places = source_of(state, values)
    source = state.value(original)
    element = tensor_of(source).element_type

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        index = inner.value(arith.IndexCastOp(elements[0], IndexType()))
        at = places(inner, coordinates(inner, index))
        return [inner.value(tensor.ExtractOp(source, at, element))]

    inputs = [state.access(indices)]
    output = whole(state.empty_like(type_))
    (result,) = generic(state.builder, type_.rank, inputs, [output], body)
    state.bind(op.result, result)
