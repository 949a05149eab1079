"""Building `linalg.generic`: loops over tensors, said by which loop indexes which axis."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import cast

from xdsl.dialects import linalg
from xdsl.dialects.builtin import AffineMapAttr
from xdsl.dialects.linalg.attrs import IteratorTypeAttr
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from kina.dialects.types import IRTensor
from kina.frozen import frozen
from kina.passes.builder import Builder


@frozen(slots=True)
class Access:
    """A tensor, and for each of its axes the loop that indexes it (None: always 0)."""

    tensor: SSAValue
    loops: tuple[int | None, ...]

    def map(self, depth: int) -> AffineMapAttr:
        """The indexing map in a nest of `depth` loops."""
        results = (
            AffineExpr.constant(0) if loop is None else AffineExpr.dimension(loop)
            for loop in self.loops
        )
        return AffineMapAttr(AffineMap(depth, 0, tuple(results)))


def whole(tensor: SSAValue) -> Access:
    """Axis k is indexed by loop k."""
    return Access(tensor, tuple(range(len(tensor_of(tensor).get_shape()))))


def tensor_of(value: SSAValue) -> IRTensor:
    """The type of a tensor value."""
    return cast(IRTensor, value.type)


Body = Callable[[Builder, Sequence[SSAValue]], Sequence[SSAValue]]
"""From the elements (inputs, then outputs) to the values that the loops yield."""


def generic(
    builder: Builder,
    depth: int,
    inputs: Sequence[Access],
    outputs: Sequence[Access],
    body: Body,
    reduced: Collection[int] = (),
) -> list[SSAValue]:
    """A nest of `depth` loops, those in `reduced` being reductions; its result tensors."""
    accesses = [*inputs, *outputs]
    block = Block(arg_types=[tensor_of(access.tensor).element_type for access in accesses])
    inner = Builder(block, builder.location)
    inner.append(linalg.ops.YieldOp(*body(inner, block.args)))
    kinds = [
        IteratorTypeAttr.reduction() if loop in reduced else IteratorTypeAttr.parallel()
        for loop in range(depth)
    ]
    op = GenericOp(
        [access.tensor for access in inputs],
        [access.tensor for access in outputs],
        Region(block),
        [access.map(depth) for access in accesses],
        kinds,
        [access.tensor.type for access in outputs],
    )
    return list(builder.append(op).results)
