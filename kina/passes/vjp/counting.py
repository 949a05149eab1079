"""Which elements of an operand count: those that an element of the result that counts is made of.

A mask is Bool, and has size 1 along axes where all elements are alike. A rule goes from the mask of
an operation's result to that of one of its operands, by position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, TensorType, i1
from xdsl.ir import Operation, SSAValue

from kina.contraction import Contraction, matmul_loops
from kina.dialects.base import AxisOp
from kina.dialects.choice import LogicalNotOp
from kina.dialects.contraction import ContractOp, MatmulOp
from kina.dialects.elementwise import CastOp, ConstantOp, ElementwiseOp
from kina.dialects.fibers import LogSumExpOp, NormOp
from kina.dialects.indexing import GatherOp, SelectAlongAxisOp, TakeAlongAxisOp
from kina.dialects.internal import ScatterAddOp, ScatterAlongAxisOp
from kina.dialects.layout import (
    ConcatOp,
    OverwriteOp,
    SizeOp,
    SliceLike,
    TransposeOp,
    UpdateLike,
    WindowOp,
)
from kina.dialects.normalize import NormalizeOp
from kina.dialects.reduce import ReduceKeepOp, ReduceOp
from kina.dialects.scan import CumsumOp, RecurrenceOp, ReverseOp
from kina.dialects.selection import PutPlacesOp, TakePlacesOp
from kina.dialects.shaping import BroadcastOp, ReshapeOp
from kina.dims import Dim, add
from kina.dtypes import BOOL, F32, I8, I64
from kina.passes.tensor_builder import TensorBuilder, type_of

_FLAG = TensorType(i1, [])

_Rule = Callable[[TensorBuilder, Any, SSAValue, int], SSAValue]


def operand_mask(b: TensorBuilder, op: Operation, mask: SSAValue, position: int) -> SSAValue:
    """Which elements of an operand count."""
    return _rule_of(op)(b, op, mask, position)


def _rule_of(op: Operation) -> _Rule:
    return next(rule for kinds, rule in _RULES if isinstance(op, kinds))


def flags(b: TensorBuilder, dims: Sequence[Dim], *, value: bool) -> SSAValue:
    """A mask that is the same everywhere."""
    return b.spread(
        b.emit(ConstantOp(DenseIntOrFPElementsAttr.from_list(_FLAG, [int(value)]))), dims
    )


def common(b: TensorBuilder, mask: SSAValue) -> SSAValue:
    """A mask without the axes along which it was broadcast: it has size 1 there, or none."""
    owner = mask.owner
    if isinstance(owner, BroadcastOp):
        return owner.operand
    if isinstance(owner, LogicalNotOp) and isinstance(inner := owner.operand.owner, BroadcastOp):
        return b.named("logical_not", inner.operand)
    return mask


def padded(b: TensorBuilder, mask: SSAValue, rank: int) -> SSAValue:
    """A mask with as many axes as what it is about."""
    dims = type_of(mask).dims
    return b.reshape(mask, (1,) * (rank - len(dims)) + dims)


def any_along(b: TensorBuilder, mask: SSAValue, axis: int) -> SSAValue:
    """Whether any element along an axis counts; the axis gets size 1."""
    if type_of(mask).dims[axis] == 1:
        return mask
    largest = b.emit(ReduceKeepOp(b.cast(mask, I8), "max", axis))
    return b.cast(largest, BOOL)


def is_alike(mask: SSAValue) -> bool:
    """Whether all elements count, or none."""
    return all(dim == 1 for dim in type_of(mask).dims)


def _sized(dims: Sequence[Dim], axis: int, size: Dim) -> tuple[Dim, ...]:
    return (*dims[:axis], size, *dims[axis + 1 :])


def _along(b: TensorBuilder, op: AxisOp, mask: SSAValue) -> SSAValue:
    """A mask of the result, element by element along the operation's axis."""
    axis = op.axis_value
    return b.spread(mask, _sized(type_of(mask).dims, axis, op.kina_type.dims[axis]))


def _is_alike_along(op: AxisOp, mask: SSAValue) -> bool:
    axis = op.axis_value
    return type_of(mask).dims[axis] == 1 and op.kina_type.dims[axis] != 1


def _element(b: TensorBuilder, op: Any, mask: SSAValue, position: int) -> SSAValue:
    return mask


def _fiber(b: TensorBuilder, op: AxisOp, mask: SSAValue, position: int) -> SSAValue:
    """All elements of a fiber count if its one result does."""
    known = type_of(mask).dims
    return b.reshape(mask, (*known[: op.axis_value], 1, *known[op.axis_value :]))


def _mixed(b: TensorBuilder, op: AxisOp, mask: SSAValue, position: int) -> SSAValue:
    """All elements of a fiber count if one of its results does."""
    return any_along(b, mask, op.axis_value)


def _normed(b: TensorBuilder, op: NormOp, mask: SSAValue, position: int) -> SSAValue:
    """The same; an element of a weight or of a bias counts if it does in one fiber."""
    if position == 0:
        return _mixed(b, op, mask, position)
    for axis in range(op.kina_type.rank):
        if axis != op.axis_value:
            mask = any_along(b, mask, axis)
    return b.reshape(mask, (type_of(mask).dims[op.axis_value],))


def _reshaped(b: TensorBuilder, op: ReshapeOp, mask: SSAValue, position: int) -> SSAValue:
    if is_alike(mask):
        return b.reshape(mask, (1,) * type_of(op.operand).rank)
    return b.reshape(b.spread(mask, op.kina_type.dims), type_of(op.operand).dims)


def _transposed(b: TensorBuilder, op: TransposeOp, mask: SSAValue, position: int) -> SSAValue:
    axes = op.axes_values
    return b.emit(TransposeOp(mask, [axes.index(axis) for axis in range(len(axes))]))


def _copied(b: TensorBuilder, op: BroadcastOp, mask: SSAValue, position: int) -> SSAValue:
    """An element counts if one of its copies does."""
    dims = type_of(op.operand).dims
    new = op.kina_type.rank - len(dims)
    for axis in range(op.kina_type.rank):
        if axis < new or dims[axis - new] == 1:
            mask = any_along(b, mask, axis)
    return b.reshape(mask, type_of(mask).dims[new:])


def _factor(b: TensorBuilder, op: MatmulOp | ContractOp, mask: SSAValue, position: int) -> SSAValue:
    """An element of a factor counts if one of the sums that it is in does."""
    loops = loops_of(op)
    own = (loops.left, loops.right)[position]
    for loop in range(loops.rank):
        if loop not in own:
            mask = any_along(b, mask, loop)
    dims = type_of(mask).dims
    kept = [loop for loop in own if loop < loops.rank]
    mask = b.reshape(mask, [dims[loop] for loop in sorted(kept)])
    if kept != sorted(kept):
        mask = b.emit(TransposeOp(mask, [sorted(kept).index(loop) for loop in kept]))
    return b.reshape(mask, [dims[loop] if loop < loops.rank else 1 for loop in own])


def loops_of(op: MatmulOp | ContractOp) -> Contraction:
    """Which loop of a product walks which axis."""
    if isinstance(op, ContractOp):
        return op.loops
    rank = type_of(op.left).rank
    return Contraction(rank, *matmul_loops(rank, type_of(op.right).rank))


def _windowed(b: TensorBuilder, op: SliceLike, mask: SSAValue, position: int) -> SSAValue:
    """Only the window counts."""
    axis = op.axis_value
    inner = _along(b, op, mask)
    whole = _sized(type_of(inner).dims, axis, type_of(op.operand).dims[axis])
    return b.emit(OverwriteOp(flags(b, whole, value=False), inner, op.start, axis))


def _part(b: TensorBuilder, op: ConcatOp, mask: SSAValue, position: int) -> SSAValue:
    if _is_alike_along(op, mask):
        return mask
    axis = op.axis_value
    sizes = [type_of(operand).dims[axis] for operand in op.inputs]
    start: Dim = 0
    for size in sizes[:position]:
        start = add(start, size)
    return b.emit(WindowOp(mask, b.emit(SizeOp(start)), axis, sizes[position]))


def _updated(b: TensorBuilder, op: UpdateLike, mask: SSAValue, position: int) -> SSAValue:
    """What is written over does not count."""
    axis = op.axis_value
    size = type_of(op.new).dims[axis]
    if position == 1:
        return mask if _is_alike_along(op, mask) else b.emit(WindowOp(mask, op.at, axis, size))
    whole = _along(b, op, mask)
    window = flags(b, _sized(type_of(whole).dims, axis, size), value=False)
    return b.emit(OverwriteOp(whole, window, op.at, axis))


def _before(b: TensorBuilder, op: CumsumOp, mask: SSAValue, position: int) -> SSAValue:
    """An element counts if one of the sums from there on does."""
    if _is_alike_along(op, mask):
        return mask
    return b.cast(_from_there_on(b, mask, op.axis_value), BOOL)


def _from_there_on(b: TensorBuilder, mask: SSAValue, axis: int) -> SSAValue:
    """How many elements count, from each one to the end."""
    last_first = b.emit(ReverseOp(b.cast(mask, I64), axis))
    return b.emit(ReverseOp(b.emit(CumsumOp(last_first, axis)), axis))


def _state(b: TensorBuilder, op: RecurrenceOp, mask: SSAValue, position: int) -> SSAValue:
    """An element counts if a state behind it does."""
    if _is_alike_along(op, mask):
        return mask
    behind = b.sub(_from_there_on(b, mask, op.axis_value), b.cast(mask, I64))
    return b.cast(behind, BOOL)


def _reversed(b: TensorBuilder, op: ReverseOp, mask: SSAValue, position: int) -> SSAValue:
    return mask if _is_alike_along(op, mask) else b.emit(ReverseOp(mask, op.axis_value))


def _row(b: TensorBuilder, op: GatherOp, mask: SSAValue, position: int) -> SSAValue:
    """A row of the table counts if one of its copies does."""
    copies = b.spread(mask, (*type_of(op.indices).dims, *type_of(mask).dims[-1:]))
    size = type_of(op.values).dims[0]
    return b.cast(b.emit(ScatterAddOp(b.cast(copies, F32), op.indices, size)), BOOL)


def _copy(b: TensorBuilder, op: ScatterAddOp, mask: SSAValue, position: int) -> SSAValue:
    dims = type_of(mask).dims
    rows = b.spread(mask, (op.kina_type.dims[0], *dims[1:]))
    return b.emit(GatherOp(rows, op.indices))


def _scattered(b: TensorBuilder, op: ScatterAlongAxisOp, mask: SSAValue, position: int) -> SSAValue:
    whole = b.spread(mask, op.kina_type.dims)
    return b.emit(SelectAlongAxisOp(whole, op.indices, op.axis_value))


def _taken(b: TensorBuilder, op: TakePlacesOp, mask: SSAValue, position: int) -> SSAValue:
    """What is at no place does not count."""
    updates = b.cast(b.spread(mask, op.kina_type.dims), F32)
    size = type_of(op.values).dims[op.axis_value]
    return b.cast(b.emit(PutPlacesOp(updates, op.places, op.axis_value, size)), BOOL)


def _put(b: TensorBuilder, op: PutPlacesOp, mask: SSAValue, position: int) -> SSAValue:
    whole = b.cast(b.spread(mask, op.kina_type.dims), F32)
    return b.cast(b.emit(TakePlacesOp(whole, op.places, op.axis_value)), BOOL)


_RULES: tuple[tuple[tuple[type[Operation], ...], _Rule], ...] = (
    ((ElementwiseOp, CastOp, ReduceKeepOp), _element),
    ((ReduceOp, LogSumExpOp, TakeAlongAxisOp, SelectAlongAxisOp), _fiber),
    ((NormalizeOp,), _mixed),
    ((NormOp,), _normed),
    ((ReshapeOp,), _reshaped),
    ((TransposeOp,), _transposed),
    ((BroadcastOp,), _copied),
    ((MatmulOp, ContractOp), _factor),
    ((SliceLike,), _windowed),
    ((ConcatOp,), _part),
    ((UpdateLike,), _updated),
    ((CumsumOp,), _before),
    ((RecurrenceOp,), _state),
    ((ReverseOp,), _reversed),
    ((GatherOp,), _row),
    ((ScatterAddOp,), _copy),
    ((ScatterAlongAxisOp,), _scattered),
    ((TakePlacesOp,), _taken),
    ((PutPlacesOp,), _put),
)
KINDS = tuple(kind for kinds, _ in _RULES for kind in kinds)
"""The operations that a mask goes through."""
