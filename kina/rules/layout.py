"""The type rules of counting and layout: iota, transpose, slice, concat, update.

A window is a range of one axis: `slice` reads it, `update` writes it;
where it starts may be known at run time only, and is then checked like an index.
"""

from __future__ import annotations

from collections.abc import Sequence

from kina.dims import DimError, add, is_negative, may_be_negative, subtract
from kina.dtypes import I64
from kina.ops import Op
from kina.rules.parts import Attributes, RuleError, axis_of, check_axis, dims_of, without_axis
from kina.types import Dim, TensorType, format_dims


def iota(op: Op, operands: Sequence[TensorType], attributes: Attributes) -> TensorType:
    """I64 of the given dimensions."""
    dims = dims_of(attributes)
    check_axis(op.name, axis_of(attributes), dims)
    return TensorType(I64, dims)


def transpose(op: Op, operands: Sequence[TensorType], attributes: Attributes) -> TensorType:
    """Axis k of the result is axis `axes[k]` of the operand."""
    dims, axes = operands[0].dims, attributes["axes"]
    assert isinstance(axes, tuple)
    known = [axis for axis in axes if isinstance(axis, int)]
    if sorted(known) == list(range(len(dims))) and len(known) == len(axes):
        return operands[0].with_dims([dims[axis] for axis in known])
    every = format_dims(range(len(dims)))
    raise RuleError(
        f"transpose: {format_dims(axes)} is no order of the axes of shape {format_dims(dims)}, "
        f"expected each of {every} once",
        blame="axes",
        help=_order_help(len(dims)),
    )


def _order_help(rank: int) -> str | None:
    if rank < 2:
        return None
    swapped = [*range(rank - 2), rank - 1, rank - 2]
    return f"the last two axes are swapped by transpose({format_dims(swapped)})"


def slice_(op: Op, operands: Sequence[TensorType], attributes: Attributes) -> TensorType:
    """`size` elements of an axis, from `start` on."""
    operand, start = operands
    axis, size = axis_of(attributes), attributes["size"]
    assert isinstance(size, int | str)
    check_axis(op.name, axis, operand.dims)
    _check_position(op, 1, start)
    dim = operand.dims[axis]
    if _never_fits(dim, size):
        raise RuleError(
            f"{op.name}: size {size} does not fit axis {axis} of shape "
            f"{format_dims(operand.dims)}, expected 1 .. {dim}",
            blame="size",
        )
    return operand.with_dims((*operand.dims[:axis], size, *operand.dims[axis + 1 :]))


def update(op: Op, operands: Sequence[TensorType], attributes: Attributes) -> TensorType:
    """The operand's type; `new` has its shape, but for a size of at most as much at the axis."""
    operand, new, at = operands
    axis = axis_of(attributes)
    check_axis(op.name, axis, operand.dims)
    if new.dtype != operand.dtype:
        raise RuleError(
            f"{op.name}: new has dtype {new.dtype} and operand has dtype {operand.dtype}, "
            "expected equal dtypes",
            blame=1,
            help=f"there are no implicit conversions: write .cast({operand.dtype})",
        )
    expected = without_axis(operand.dims, axis)
    if new.rank != operand.rank or without_axis(new.dims, axis) != expected:
        raise RuleError(
            f"{op.name}: new has shape {format_dims(new.dims)}, expected "
            f"{format_dims(operand.dims)} with another size at axis {axis}",
            blame=1,
            help=_reshape_help(operand, new, axis),
        )
    size, dim = new.dims[axis], operand.dims[axis]
    if _never_fits(dim, size):
        raise RuleError(
            f"{op.name}: new has size {size} at axis {axis}, expected at most {dim}, "
            f"the operand's ({format_dims(operand.dims)})",
            blame=1,
        )
    _check_position(op, 2, at)
    return operand


def _reshape_help(operand: TensorType, new: TensorType, axis: int) -> str | None:
    """How a row without the axis gets one."""
    if new.dims != without_axis(operand.dims, axis):
        return None
    one = (*new.dims[:axis], 1, *new.dims[axis:])
    return f"give it the axis, of size 1: .reshape({format_dims(one)})"


def _check_position(op: Op, role: int, position: TensorType) -> None:
    """Refuse what is no rank-0 I64."""
    if position.dtype is I64 and not position.dims:
        return
    name = op.operands[role]
    raise RuleError(
        f"{op.name}: {name} has type {position}, expected an integer or a tensor<I64, []>",
        blame=role,
        help=_position_help(position),
    )


def _position_help(position: TensorType) -> str | None:
    steps = ".reshape([])" if set(position.dims) == {1} else ""
    steps += ".cast(I64)" if position.dtype.is_int and position.dtype is not I64 else ""
    fits = position.dtype.is_int and (not position.dims or set(position.dims) == {1})
    return f"write {steps}" if fits else None


def concat(op: Op, operands: Sequence[TensorType], attributes: Attributes) -> TensorType:
    """The operands one after the other along an axis; all else about them is equal."""
    first, axis = operands[0], axis_of(attributes)
    if len(operands) < 2:
        raise RuleError(f"{op.name}: one tensor, expected two or more")
    check_axis(op.name, axis, first.dims)
    for place, other in enumerate(operands[1:], start=1):
        if other.dtype != first.dtype:
            raise RuleError(
                f"{op.name}: tensor {place + 1} has dtype {other.dtype}, expected {first.dtype} "
                "as the first has",
                blame=place,
                help=f"there are no implicit conversions: write .cast({first.dtype})",
            )
        same = other.rank == first.rank
        if not same or without_axis(other.dims, axis) != without_axis(first.dims, axis):
            raise RuleError(
                f"{op.name}: tensor {place + 1} has shape {format_dims(other.dims)}, expected "
                f"{format_dims(first.dims)} with any size at axis {axis}",
                blame=place,
            )
    total = _sum([operand.dims[axis] for operand in operands], axis)
    return first.with_dims((*first.dims[:axis], total, *first.dims[axis + 1 :]))


def _sum(sizes: Sequence[Dim], axis: int) -> Dim:
    try:
        return add(*sizes)
    except DimError as error:
        raise RuleError(f"concat: the sum of the sizes at axis {axis}: {error}") from error


def _never_fits(dim: Dim, size: Dim) -> bool:
    """Whether a window is larger than its axis, whatever the sizes are."""
    room = _difference(dim, size)
    return room is not None and is_negative(room)


def _difference(left: Dim, right: Dim) -> Dim | None:
    """The difference; None past the limits of a dimension."""
    try:
        return subtract(left, right)
    except DimError:
        return None


def check_start(name: str, operand: TensorType, axis: int, size: Dim, start: Dim) -> None:
    """Refuse a start that is known at compile time and puts the window outside of the axis.

    Blames operand "start": what comes before is right, and what is not known is left to the call.
    """
    last = _difference(operand.dims[axis], size)
    rest = None if last is None else _difference(last, start)
    negative = any(known is not None and is_negative(known) for known in (start, rest))
    if not negative:
        return
    valid = "0 or more" if last is None else f"0 .. {last}" if last else "0"
    window = f"size {size} of axis {axis} of shape {format_dims(operand.dims)}"
    message = f"{name}: {window} from {start} on, expected from {valid}"
    raise RuleError(message, blame="start", help=_start_help(name, operand.dims[axis], start, last))


def _start_help(name: str, dim: Dim, start: Dim, last: Dim | None) -> str | None:
    """What -1 means elsewhere, where there is room for the window."""
    if not isinstance(start, int) or start >= 0:
        return None
    meant = _difference(dim, -start)
    rest = None if last is None or meant is None else _difference(last, meant)
    argument = "at" if name == "update" else "start"
    fits = not any(size is None or is_negative(size) for size in (meant, rest))
    return f"nothing is counted from the end{f': here {argument}={meant}' if fits else ''}"


def always_fits(dim: Dim, size: Dim, start: Dim) -> bool:
    """Whether a window is known to lie inside of its axis, whatever the sizes are."""
    last = _difference(dim, size)
    rest = None if last is None else _difference(last, start)
    return all(known is not None and not may_be_negative(known) for known in (start, rest))
