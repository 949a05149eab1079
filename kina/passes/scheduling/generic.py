"""Small pieces that kernels are built from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from xdsl.dialects import arith, linalg, memref, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    AffineMapAttr,
    DenseArrayBase,
    IndexType,
    IntAttr,
    IntegerAttr,
    MemRefType,
    NoneAttr,
    StridedLayoutAttr,
    UnregisteredOp,
    i32,
    i64,
)
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap

from kina.passes.scheduling.graph import element_of, static_shape

INDEX = IndexType()
KnownSize: TypeAlias = tuple[int, SSAValue | None]
"""A static size, or MLIR's mark for a dynamic one with its value."""
# xDSL's own definitions of these two refuse a memref with a layout.
TO_TENSOR = UnregisteredOp.with_name("bufferization.to_tensor")
MATERIALIZE = UnregisteredOp.with_name("bufferization.materialize_in_destination")


def index_constant(value: int) -> Operation:
    """A constant of type index."""
    return arith.ConstantOp.from_int_and_width(value, INDEX)


def index_op(loop: int) -> linalg.ops.IndexOp:
    """The current iteration of a loop of the op around it."""
    dim = IntegerAttr(loop, i64)
    return linalg.ops.IndexOp.create(properties={"dim": dim}, result_types=[INDEX])


def generic(
    inputs: Sequence[SSAValue],
    starts: Sequence[SSAValue],
    body: Block,
    maps: Sequence[AffineMap],
    kinds: Sequence[str],
) -> linalg.ops.GenericOp:
    """A `linalg.generic` that starts from (or writes to) `starts`."""
    return linalg.ops.GenericOp(
        inputs,
        starts,
        Region(body),
        [AffineMapAttr(m) for m in maps],
        [linalg.attrs.IteratorTypeAttr(linalg.attrs.IteratorType(kind)) for kind in kinds],
        [start.type for start in starts],
    )


def copy(value: SSAValue, target: SSAValue) -> linalg.ops.GenericOp:
    """A copy of a tensor into another."""
    element = element_of(value)
    body = Block(arg_types=[element, element])
    body.add_op(linalg.ops.YieldOp(body.args[0]))
    rank = len(static_shape(value))
    return generic([value], [target], body, [AffineMap.identity(rank)] * 2, ["parallel"] * rank)


def all_of(
    value: SSAValue, sizes: Sequence[int], dynamic: Sequence[SSAValue]
) -> tensor.ExtractSliceOp:
    """A slice that is all of a tensor of these sizes; the dynamic ones come as values."""
    return tensor.ExtractSliceOp.create(
        operands=[value, *dynamic],
        result_types=[value.type],
        properties={
            "static_offsets": DenseArrayBase.from_list(i64, [0] * len(sizes)),
            "static_sizes": DenseArrayBase.from_list(i64, sizes),
            "static_strides": DenseArrayBase.from_list(i64, [1] * len(sizes)),
            "operandSegmentSizes": DenseArrayBase.from_list(i32, [1, 0, len(dynamic), 0]),
        },
    )


def view_of(
    pointer: SSAValue,
    sizes: Sequence[KnownSize],
    strides: Sequence[KnownSize],
    offset: SSAValue | None,
) -> memref.ReinterpretCastOp:
    """A buffer seen with these sizes and strides."""
    static_sizes, static_strides = [s for s, _ in sizes], [s for s, _ in strides]
    marks = [NoneAttr() if s == DYNAMIC_INDEX else IntAttr(s) for s in static_strides]
    layout = NoneAttr() if offset is None else StridedLayoutAttr(marks, NoneAttr())
    return memref.ReinterpretCastOp(
        pointer,
        [] if offset is None else [offset],
        [value for _, value in sizes if value is not None],
        [value for _, value in strides if value is not None],
        [0 if offset is None else DYNAMIC_INDEX],
        static_sizes,
        static_strides,
        MemRefType(element_of(pointer), static_sizes, layout),
    )
