"""Counting and layout: iota, transpose, and windows of an axis, read or written.

A window that is read is an `extract_slice` that loops copy; one that is written is the
`extract_slice` of the target that loops fill, put back by an `insert_slice`: bufferization then
writes in place, and neither is a copy that schedule-cpu would keep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, cf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, UnitAttr, i64
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.dialects.utils import split_dynamic_index_list
from xdsl.ir import BlockArgument, OpResult, SSAValue, Use

from kina.dialects.layout import (
    CheckWindowOp,
    ConcatOp,
    IotaOp,
    OverwriteOp,
    SizeOp,
    SliceLike,
    SliceOp,
    TransposeOp,
    UpdateLike,
    UpdateOp,
    WindowOp,
    constant_position,
)
from kina.dialects.types import from_ir
from kina.dims import Dim, add, subtract
from kina.passes.builder import Builder
from kina.passes.lowering.context import Lowering
from kina.passes.lowering.generic import Access, generic, tensor_of, whole
from kina.passes.lowering.places import prefix
from kina.passes.lowering.storage import tensor_type

OVERWRITES = "overwrites"
"""Marks loops that fill a window of what has been written before."""
TAKEN = "kina.taken"
"""Marks the copy of a parameter that is none where the parameter is the result's memory."""

Start = int | SSAValue
"""Where a window starts: known now, or an index."""


def lower_iota(state: Lowering, op: IotaOp) -> None:
    """Lower to the loop's own index."""
    type_ = op.kina_type

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        return [inner.value(arith.IndexCastOp(inner.value(IndexOp(op.axis_value)), i64))]

    output = whole(state.empty_like(type_))
    state.bind(op.result, generic(state.builder, type_.rank, [], [output], body)[0])


def lower_transpose(state: Lowering, op: TransposeOp) -> None:
    """Lower to a copy that reads through an order of the loops."""
    type_, axes = op.kina_type, op.axes_values
    loops = tuple(axes.index(axis) for axis in range(len(axes)))
    output = whole(state.empty_like(type_))
    source = Access(state.value(op.operand), loops)
    state.bind(op.result, generic(state.builder, type_.rank, [source], [output], _copy)[0])


def lower_size(state: Lowering, op: SizeOp) -> None:
    """Lower to the size itself; what starts there takes it, and no tensor of it."""
    if all(_is_start(use) for use in op.result.uses):
        return
    size = _as_i64(state, op.size)
    output = whole(state.empty_like(from_ir(op.result.type)))

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        return [size]

    state.bind(op.result, generic(state.builder, 0, [], [output], body)[0])


def _is_start(use: Use) -> bool:
    """Whether a use of a size is that a window starts there."""
    op = use.operation
    is_window = isinstance(op, CheckWindowOp | SliceLike | UpdateLike)
    return is_window and use.index == len(op.operands) - 1


def lower_slice(state: Lowering, op: SliceOp) -> None:
    """Lower to a check and a window."""
    check(state, op.start, "slice", op.axis_value, op.size, op.whole.dims[op.axis_value])
    lower_window(state, op)


def lower_window(state: Lowering, op: SliceOp | WindowOp) -> None:
    """Lower to loops that read a window of the operand."""
    start = _start(state, op.start)
    part = _extract(state, state.value(op.operand), op.axis_value, start, op.kina_type.dims)
    state.bind(op.result, _copied(state, part, state.empty_like(op.kina_type)))


def lower_concat(state: Lowering, op: ConcatOp) -> None:
    """Lower to a target of which each input fills its window."""
    axis, target = op.axis_value, state.empty_like(op.kina_type)
    start: Dim = 0
    for operand in op.inputs:
        dims = from_ir(operand.type).dims
        first = start if isinstance(start, int) else state.size(start)
        target = _overwritten(state, target, state.value(operand), axis, first, dims)
        start = add(start, dims[axis])
    state.bind(op.result, target)


def lower_update(state: Lowering, op: UpdateOp) -> None:
    """Lower to a check and an overwrite."""
    check(state, op.at, "update", op.axis_value, op.size, op.whole.dims[op.axis_value])
    lower_overwrite(state, op)


def lower_overwrite(state: Lowering, op: UpdateOp | OverwriteOp) -> None:
    """Lower to a copy of the operand, of which a window is then filled."""
    target = _target(state, op)
    start, dims = _start(state, op.at), from_ir(op.new.type).dims
    new = state.value(op.new)
    result = _overwritten(state, target, new, op.axis_value, start, dims, OVERWRITES)
    state.bind(op.result, result)


def _target(state: Lowering, op: UpdateOp | OverwriteOp) -> SSAValue:
    """The tensor that a window is filled in: a copy of the operand, or itself if it is taken."""
    operand = state.value(op.operand)
    if op in state.taking and not isinstance(op.operand, BlockArgument):
        return operand
    mark = TAKEN if op in state.taking else None
    return _copied(state, operand, state.empty_like(op.kina_type), mark)


def lower_check_window(state: Lowering, op: CheckWindowOp) -> None:
    """Lower the check that simplify-kina split."""
    check(state, op.start, op.what.data, op.axis_value, op.size_value, op.within_value)


def check(state: Lowering, start: SSAValue, what: str, axis: int, size: Dim, within: Dim) -> None:
    """Assert that `size` elements from `start` on lie in an axis of size `within`."""
    b = state.builder
    known = constant_position(start)
    if known is None:
        position = b.value(tensor.ExtractOp(state.value(start), [], i64))
    else:
        position = _as_i64(state, known)
    room = b.value(arith.SubiOp(_as_i64(state, within), _as_i64(state, size)))
    above = b.compare("sge", position, b.integer(0, i64))
    inside = b.value(arith.AndIOp(above, b.compare("sle", position, room)))
    name = "at" if what == "update" else "start"
    message = f"{what}: {name} out of range 0 .. {_difference(within, size)} (axis {axis})"
    b.append(cf.AssertOp(inside, prefix(b.location) + message))


Places = Callable[[Builder, Sequence[SSAValue]], list[SSAValue]]
"""From the coordinates of an element in one tensor to those in another."""


def source_of(state: Lowering, value: SSAValue) -> tuple[SSAValue, Places]:
    """The kina value that windows and orders of axes of `value` are read from, and where in it."""
    op = value.owner
    if isinstance(op, TransposeOp):
        axes = op.axes_values
        source, places = source_of(state, op.operand)
        return source, lambda inner, at: places(inner, [at[axes.index(a)] for a in range(len(at))])
    if isinstance(op, WindowOp | SliceOp):
        start, axis = _start(state, op.start), op.axis_value
        source, places = source_of(state, op.operand)
        return source, lambda inner, at: places(inner, _moved(inner, at, axis, start))
    return value, lambda _, at: list(at)


def _moved(inner: Builder, at: Sequence[SSAValue], axis: int, start: Start) -> list[SSAValue]:
    more = inner.index(start) if isinstance(start, int) else start
    return [*at[:axis], inner.value(arith.AddiOp(at[axis], more)), *at[axis + 1 :]]


def _difference(within: Dim, size: Dim) -> str:
    """The last start, in words."""
    return str(subtract(within, size)).replace(" ", "")


def _as_i64(state: Lowering, size: Dim) -> SSAValue:
    if isinstance(size, int):
        return state.builder.integer(size, i64)
    return state.builder.value(arith.IndexCastOp(state.size(size), i64))


def _start(state: Lowering, start: SSAValue) -> Start:
    known = constant_position(start)
    if known is not None:
        return known if isinstance(known, int) else state.size(known)
    position = state.builder.value(tensor.ExtractOp(state.value(start), [], i64))
    return state.builder.value(arith.IndexCastOp(position, IndexType()))


def _copy(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
    return [elements[0]]


def _copied(
    state: Lowering, source: SSAValue, target: SSAValue, mark: str | None = None
) -> SSAValue:
    """`source`, written to `target` of the same shape."""
    rank = len(tensor_of(source).get_shape())
    copied = generic(state.builder, rank, [whole(source)], [whole(target)], _copy)[0]
    if mark is not None:
        assert isinstance(copied, OpResult)
        copied.op.attributes[mark] = UnitAttr()
    return copied


def _overwritten(
    state: Lowering,
    target: SSAValue,
    new: SSAValue,
    axis: int,
    start: Start,
    dims: tuple[Dim, ...],
    mark: str | None = None,
) -> SSAValue:
    """`target` with `new`, of these dimensions, in a window."""
    filled = _copied(state, new, _extract(state, target, axis, start, dims), mark)
    offsets, sizes = _places(axis, start, dims), _sizes(state, dims)
    static_offsets, given = split_dynamic_index_list(offsets, DYNAMIC_INDEX)
    static_sizes, symbols = split_dynamic_index_list(sizes, DYNAMIC_INDEX)
    op = tensor.InsertSliceOp.get(
        filled,
        target,
        static_sizes,
        static_offsets,
        [1] * len(dims),
        offsets=given,
        sizes=symbols,
        result_type=target.type,
    )
    return state.builder.value(op)


def _extract(
    state: Lowering, source: SSAValue, axis: int, start: Start, dims: tuple[Dim, ...]
) -> SSAValue:
    """A window of `source`, of these dimensions."""
    type_ = tensor_type(tensor_of(source).element_type, dims)
    offsets, sizes = _places(axis, start, dims), _sizes(state, dims)
    op = tensor.ExtractSliceOp(source, offsets, sizes, [1] * len(dims), type_)
    return state.builder.value(op)


def _places(axis: int, start: Start, dims: Sequence[Dim]) -> list[Start]:
    return [start if position == axis else 0 for position in range(len(dims))]


def _sizes(state: Lowering, dims: Sequence[Dim]) -> list[Start]:
    return [dim if isinstance(dim, int) else state.size(dim) for dim in dims]
