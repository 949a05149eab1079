"""The operations of reverse mode: scatters as loops that read, so that they fuse and stay ordered.

`scatter_along_axis` compares each position with the index instead of writing to it.
`scatter_add` is the one loop that writes where an index says: position after position, so the
order in which duplicates add up is fixed.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import IndexType, IntegerType, i32, i64
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import SSAValue

from kina.dialects.internal import ScatterAddOp, ScatterAlongAxisOp
from kina.passes.builder import Builder
from kina.passes.lowering.casts import resize
from kina.passes.lowering.context import Lowering
from kina.passes.lowering.generic import Access, generic, tensor_of, whole
from kina.passes.lowering.loops import nest
from kina.passes.lowering.storage import compute_element, load, store


def lower_scatter_along_axis(state: Lowering, op: ScatterAlongAxisOp) -> None:
    """Lower to `select(position == index, update, 0)` over the whole result."""
    type_, axis = op.kina_type, op.axis_value
    rest = tuple(loop for loop in range(type_.rank) if loop != axis)
    inputs = [Access(state.value(operand), rest) for operand in op.operands]
    size = type_.dims[axis]
    width = i32 if isinstance(size, int) and size < 1 << 31 else i64

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        update = load(inner, type_.dtype, elements[0])
        index = resize(inner, elements[1], width.width.data)
        here = _position(inner, axis, width)
        zero = inner.constant(0.0, compute_element(type_.dtype))
        found = inner.select(inner.compare("eq", here, index), update, zero)
        return [store(inner, type_.dtype, found)]

    output = whole(state.empty_like(type_))
    (result,) = generic(state.builder, type_.rank, inputs, [output], body)
    state.bind(op.result, result)


def _position(inner: Builder, axis: int, width: IntegerType) -> SSAValue:
    return inner.value(arith.IndexCastOp(inner.value(IndexOp(axis)), width))


def lower_scatter_add(state: Lowering, op: ScatterAddOp) -> None:
    """Lower to loops over the indices, in order, each adding one row of updates (F32).

    decompose-kina widens small floats. Lanes of a row do not meet, so the rows vectorise.
    """
    type_ = op.kina_type
    indices = op.kina_operand_types()[1]
    start = state.filled(0.0, compute_element(type_.dtype), type_.dims)

    def add(inner: Builder, places: Sequence[SSAValue], table: SSAValue) -> SSAValue:
        *position, lane = places
        index = inner.value(tensor.ExtractOp(state.value(op.indices), position, i64))
        target = [inner.value(arith.IndexCastOp(index, IndexType())), lane]
        element = tensor_of(table).element_type
        total = inner.value(tensor.ExtractOp(table, target, element))
        update = inner.value(tensor.ExtractOp(state.value(op.updates), places, element))
        added = inner.value(arith.AddfOp(total, update))
        return inner.value(tensor.InsertOp(added, table, target))

    dims = (*indices.dims, type_.dims[1])
    state.bind(op.result, nest(state, state.builder, dims, [], start, add))
