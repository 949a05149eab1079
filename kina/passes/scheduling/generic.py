"""Small pieces that kernels are built from."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, linalg
from xdsl.dialects.builtin import AffineMapAttr, IndexType, IntegerAttr, i64
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineMap

INDEX = IndexType()


def index_constant(value: int) -> Operation:
    """A constant of type index."""
    return arith.ConstantOp.from_int_and_width(value, INDEX)


def index_op(loop: int) -> linalg.ops.IndexOp:
    """The current iteration of a loop of the op around it."""
    dim = IntegerAttr(loop, i64)
    return linalg.ops.IndexOp.create(properties={"dim": dim}, result_types=[INDEX])


def generic(
    inputs: Sequence[SSAValue],
    start: SSAValue,
    body: Block,
    maps: Sequence[AffineMap],
    kinds: Sequence[str],
) -> linalg.ops.GenericOp:
    """A `linalg.generic` with one result."""
    return linalg.ops.GenericOp(
        inputs,
        [start],
        Region(body),
        [AffineMapAttr(m) for m in maps],
        [linalg.attrs.IteratorTypeAttr(linalg.attrs.IteratorType(kind)) for kind in kinds],
        [start.type],
    )
