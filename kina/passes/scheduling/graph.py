"""Reads linalg on tensors: sizes of values, access maps, and what kind of work each op is.

An access map has one entry per dimension of the accessed tensor: the iteration dimension that
walks it, or `UNIT` where it stays at one place; and how far off the walk is that reads or writes
only a window of the tensor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from math import prod
from typing import TypeAlias, cast

from xdsl.dialects import arith, bufferization, linalg, memref, scf, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    IntegerAttr,
    MemRefType,
    StringAttr,
    TensorType,
)
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.ir.affine import AffineConstantExpr, AffineDimExpr, AffineMap

from kina.dialects.invoke import Invocation
from kina.frozen import frozen
from kina.passes.derived_sizes import SIZES, named
from kina.passes.scheduling.combiners import combiner_of, is_chain, is_ordered
from kina.passes.scheduling.contests import join_of
from kina.passes.scheduling.scans import is_scan
from kina.passes.scheduling.selections import is_selection

UNIT = -1
Dim: TypeAlias = int | SSAValue
Shape: TypeAlias = tuple[Dim, ...]
Shift: TypeAlias = tuple[Dim, ...]
"""A distance: the sum of a known number and of run-time ones."""


@frozen(slots=True)
class Access:
    """How loops walk a tensor: the loop of each of its dimensions."""

    dims: tuple[int, ...]
    shifts: tuple[Shift | None, ...] = ()
    """Where the walk of each dimension begins; None where it is the whole. Empty: all of it."""

    def __iter__(self) -> Iterator[int]:
        return iter(self.dims)

    def __len__(self) -> int:
        return len(self.dims)

    def __getitem__(self, position: int) -> int:
        return self.dims[position]

    def shift(self, position: int) -> Shift | None:
        """Where the walk of a dimension begins, None if it is the whole."""
        return self.shifts[position] if self.shifts else None

    @property
    def is_window(self) -> bool:
        """Whether only a part of the tensor is walked."""
        return bool(self.shifts)

    def within(self, starts: Sequence[Shift | None]) -> Access:
        """The same walk, `starts` further on."""
        moved = [moved_by(self.shift(at), start) for at, start in enumerate(starts)]
        return Access(self.dims, tuple(moved) if any(s is not None for s in moved) else ())

    def inside(self, inner: Access) -> Access:
        """`inner`, whose loops walk the dimensions that this walks."""
        dims = tuple(UNIT if dim == UNIT else self.dims[dim] for dim in inner)
        shifts = [None if dim == UNIT else self.shift(dim) for dim in inner]
        return Access(dims).within(shifts).within(inner.shifts or [None] * len(dims))


def moved_by(left: Shift | None, right: Shift | None) -> Shift | None:
    """The sum of two distances; a window of a whole is a window."""
    if left is None or right is None:
        return right if left is None else left
    known = sum(term for term in left + right if isinstance(term, int))
    return (*([known] if known else []), *(t for t in left + right if not isinstance(t, int)))


def element_of(value: SSAValue) -> Attribute:
    """The element type of a tensor or memref value."""
    assert isinstance(value.type, TensorType | MemRefType)
    return cast(TensorType[Attribute] | MemRefType[Attribute], value.type).element_type


def static_shape(value: SSAValue) -> tuple[int, ...]:
    """The sizes in the type of a tensor or memref value."""
    assert isinstance(value.type, TensorType | MemRefType)
    return cast(TensorType[Attribute] | MemRefType[Attribute], value.type).get_shape()


def owner(value: SSAValue) -> Operation | None:
    """The op that computes `value`, None for a block argument."""
    return value.op if isinstance(value, OpResult) else None


def canonical_dim(value: SSAValue) -> Dim:
    """One name per size: looks through index casts, constants and `tensor.dim`."""
    match owner(value):
        case arith.IndexCastOp(input=source):
            return canonical_dim(source)
        case arith.ConstantOp(value=IntegerAttr() as number):
            return number.value.data
        case tensor.DimOp(source=source, index=index):
            position = canonical_dim(index)
            assert isinstance(position, int), "tensor.dim needs a constant index"
            return shape_of(source)[position]
        case _:
            return value


def mixed(static: Sequence[int], dynamic: Sequence[SSAValue]) -> Shape:
    """Static sizes, with the dynamic ones filled in."""
    rest = iter(dynamic)
    return tuple(canonical_dim(next(rest)) if s == DYNAMIC_INDEX else s for s in static)


def shape_of(value: SSAValue) -> Shape:
    """The sizes of a tensor or memref value."""
    static = static_shape(value)
    if DYNAMIC_INDEX not in static:
        return tuple(static)
    match owner(value):
        case bufferization.ToTensorOp(memref=source):
            return shape_of(source)
        case (
            memref.ReinterpretCastOp(sizes=sizes)
            | tensor.EmptyOp(dynamic_sizes=sizes)
            | tensor.ExtractSliceOp(sizes=sizes)
        ):
            return mixed(static, sizes)
        case tensor.ExpandShapeOp(dynamic_output_shape=sizes):
            return mixed(static, sizes)
        case tensor.CollapseShapeOp() as op:
            return collapsed_shape(op)
        case tensor.InsertSliceOp(dest=dest):
            return shape_of(dest)
        case linalg.ops.GenericOp(outputs=outputs) | linalg.ops.FillOp(outputs=outputs):
            assert isinstance(value, OpResult)
            return shape_of(outputs[value.index])
        case Invocation(outs=outs):
            assert isinstance(value, OpResult)
            return shape_of(outs[value.index - 1])
        case scf.ForOp(iter_args=starts):
            assert isinstance(value, OpResult)
            return shape_of(starts[value.index])
        case _:
            raise ValueError(f"the sizes of {value} are not known")


def groups_of(op: tensor.ExpandShapeOp | tensor.CollapseShapeOp) -> list[list[int]]:
    """The reassociation of a reshape as plain lists."""
    return [[i.value.data for i in group] for group in op.reassociation]


def factors_of(value: SSAValue) -> list[Shape]:
    """The sizes of a tensor, each as a product: a collapse multiplies what has no name."""
    op = owner(value)
    if not isinstance(op, tensor.CollapseShapeOp):
        return [(dim,) for dim in shape_of(value)]
    source = shape_of(op.src)
    return [tuple(source[i] for i in group if source[i] != 1) for group in groups_of(op)]


def collapsed_shape(op: tensor.CollapseShapeOp) -> Shape:
    """The result sizes of a collapse: known, of one dynamic dimension, or with a name."""
    factors = factors_of(op.result)
    names = cast("ArrayAttr[StringAttr] | None", op.attributes.get(SIZES))
    texts = [name.data for name in names] if names else [""] * len(factors)
    return tuple(map(_only_size, factors, texts))


def _only_size(factors: Shape, name: str) -> Dim:
    known = prod(dim for dim in factors if isinstance(dim, int))
    dynamic = [dim for dim in factors if not isinstance(dim, int)]
    if dynamic and (known, len(dynamic)) != (1, 1):
        return named(name, known, dynamic)
    return dynamic[0] if dynamic else known


def viewed(value: SSAValue) -> SSAValue:
    """The tensor that a chain of reshapes starts from."""
    op = owner(value)
    if isinstance(op, tensor.ExpandShapeOp | tensor.CollapseShapeOp):
        return viewed(op.src)
    return value


def base_of(value: SSAValue) -> SSAValue:
    """The tensor whose memory a value is: reshapes share it, and what is written to windows."""
    found = viewed(value)
    op = owner(found)
    return base_of(op.dest) if isinstance(op, tensor.InsertSliceOp) else found


def made_of(value: SSAValue) -> SSAValue:
    """The tensor whose elements a value has, or some of them, as it was made."""
    found = viewed(value)
    op = owner(found)
    return made_of(op.source) if isinstance(op, tensor.ExtractSliceOp) else found


def memory_of(value: SSAValue) -> SSAValue:
    """The tensor whose memory holds a value, whatever windows of it were written or are read."""
    found = viewed(value)
    op = owner(found)
    if isinstance(op, tensor.InsertSliceOp):
        return memory_of(op.dest)
    return memory_of(op.source) if isinstance(op, tensor.ExtractSliceOp) else found


def access_of(affine: AffineMap) -> Access | None:
    """`affine` as an access map, None if it is more than a choice of dimensions."""
    result: list[int] = []
    for expr in affine.results:
        match expr:
            case AffineDimExpr():
                result.append(expr.position)
            case AffineConstantExpr(value=0):
                result.append(UNIT)
            case _:
                return None
    return Access(tuple(result))


def through_view(value: SSAValue, access: Access) -> tuple[SSAValue, Access]:
    """Follows windows, and reshapes that only add or drop dimensions of size 1, to their source."""
    op = owner(value)
    if isinstance(op, tensor.ExtractSliceOp):
        return through_view(op.source, access.within(_starts(op)))
    if not isinstance(op, tensor.ExpandShapeOp | tensor.CollapseShapeOp) or not is_unit_view(op):
        return value, access
    source, result = shape_of(op.src), shape_of(op.result)
    through: list[int | None] = [None] * len(source)
    for outer, group in enumerate(groups_of(op)):
        if isinstance(op, tensor.ExpandShapeOp):
            through[outer] = next((i for i in group if result[i] != 1), None)
        else:
            for i in group:
                through[i] = outer if source[i] != 1 else None
    dims = tuple(UNIT if at is None else access[at] for at in through)
    shifts = [None if at is None else access.shift(at) for at in through]
    return through_view(op.src, Access(dims).within(shifts))


def _starts(op: tensor.ExtractSliceOp) -> list[Shift | None]:
    """Where a window begins in each dimension, None where it is the whole."""
    starts = mixed(op.static_offsets.get_values(), op.offsets)
    sizes = zip(shape_of(op.source), shape_of(op.result), strict=True)
    return [
        None if whole == size else () if start == 0 else (start,)
        for start, (whole, size) in zip(starts, sizes, strict=True)
    ]


def is_unit_view(op: tensor.ExpandShapeOp | tensor.CollapseShapeOp) -> bool:
    """Whether a reshape only adds or drops dimensions of size 1."""
    wide = shape_of(op.src if isinstance(op, tensor.CollapseShapeOp) else op.result)
    return all(sum(wide[i] != 1 for i in group) <= 1 for group in groups_of(op))


@frozen(eq=False)
class Node:
    """A `linalg.generic` that can be scheduled: elementwise, or one reduced axis.

    `accesses` are those of the inputs and of the result (for a contest, the index).
    """

    op: linalg.ops.GenericOp
    accesses: tuple[Access, ...]
    dims: Shape
    axis: int | None
    is_ordered: bool
    """Whether it reduces the axis in an order that can be seen in the bits."""
    is_chain: bool = False
    """Whether that order is one chain, from the first element to the last."""
    is_scan: bool = False
    """Whether it walks the axis, and has a value for each element."""
    list_dim: int | None = None
    """The dimension of the result that holds a list of the best elements of each fiber."""

    @property
    def value(self) -> SSAValue:
        """The computed tensor."""
        return self.op.results[-1]

    @property
    def is_contest(self) -> bool:
        """Whether `value` is the index of a best value."""
        return len(self.op.results) > 1 and not self.is_scan and not self.is_selection

    @property
    def is_selection(self) -> bool:
        """Whether it has a list of values for each fiber."""
        return self.list_dim is not None

    @cached_property
    def extracts(self) -> bool:
        """Whether the body reads tensors at computed places."""
        return any(isinstance(op, tensor.ExtractOp) for op in self.op.body.block.ops)


def node_of(op: Operation) -> Node | None:
    """`op` as a node, None if it is not of a form that the scheduler knows."""
    if not isinstance(op, linalg.ops.GenericOp) or not op.results:
        return None
    if is_scan(op) or is_selection(op):
        return _scan_node(op) if is_scan(op) else _selection_node(op)
    contest = join_of(op) is not None
    if len(op.outputs) != 1 and not contest:
        return None
    maps = op.indexing_maps.data
    accesses = [access_of(m.data) for m in (*maps[: len(op.inputs)], maps[-1])]
    kinds = [kind.data for kind in op.iterator_types]
    reduced = [i for i, kind in enumerate(kinds) if kind is IteratorType.REDUCTION]
    if any(a is None for a in accesses) or len(reduced) > 1:
        return None
    known = tuple(a for a in accesses if a is not None)
    rows = [i for i in range(len(kinds)) if i not in reduced]
    if [d for d in known[-1] if d != UNIT] != rows or uses_output(op) != bool(reduced):
        return None
    if reduced and not contest and combiner_of(op) is None:
        return None
    dims = iteration_dims(op, known)
    if contest and (reduced != [len(dims) - 1] or dims[-1] == 1):
        return None
    if not reduced:
        return Node(op, known, dims, None, is_ordered=False)
    chain = is_chain(op)
    if chain and reduced[0] == len(dims) - 1:
        return None
    return Node(op, known, dims, reduced[0], is_ordered(op), chain)


def _scan_node(op: linalg.ops.GenericOp) -> Node | None:
    maps = op.indexing_maps.data
    accesses = [access_of(m.data) for m in (*maps[: len(op.inputs)], maps[-1])]
    known = tuple(access for access in accesses if access is not None)
    if len(known) != len(accesses):
        return None
    axis = [kind.data for kind in op.iterator_types].index(IteratorType.REDUCTION)
    dims = iteration_dims(op, known)
    return Node(op, known, dims, axis, is_ordered=True, is_scan=True)


def _selection_node(op: linalg.ops.GenericOp) -> Node | None:
    """Its loop over the list is the kernel's own: the list of a row stays at one place."""
    keys, lists = (access_of(op.indexing_maps.data[at].data) for at in (0, -1))
    if keys is None or lists is None:
        return None
    along = len(keys) - 1
    where = tuple(lists).index(along + 1)
    dims = tuple(UNIT if at == where else dim for at, dim in enumerate(lists))
    shifts = tuple(() if at == where else None for at in range(len(dims)))
    accesses = keys, Access(dims, shifts)
    sizes = iteration_dims(op, accesses)
    return Node(op, accesses, sizes, along, is_ordered=False, list_dim=where)


def uses_output(op: linalg.ops.GenericOp) -> bool:
    """Whether the body reads its output argument."""
    return bool(op.body.block.args[-1].uses)


def iteration_dims(op: linalg.ops.GenericOp, accesses: Sequence[Access]) -> Shape:
    """The size of each iteration dimension, static if any operand has it static."""
    dims: dict[int, Dim] = {}
    for value, access in zip((*op.inputs, op.outputs[-1]), accesses, strict=True):
        for size, dim in zip(shape_of(value), access, strict=True):
            if dim != UNIT and not isinstance(dims.get(dim), int):
                dims[dim] = size
    return tuple(dims[i] for i in range(len(dims)))
