"""Loops that write one element after the other, in order, where a body says."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import scf
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, SSAValue

from kina.passes.builder import Builder
from kina.passes.lowering.context import Lowering
from kina.types import Dim

Step = Callable[[Builder, Sequence[SSAValue], SSAValue], SSAValue]
"""From the loops' positions and a tensor to that tensor with one element changed."""


def nest(
    state: Lowering,
    builder: Builder,
    dims: Sequence[Dim],
    places: list[SSAValue],
    carried: SSAValue,
    step: Step,
) -> SSAValue:
    """`step` at every position of `dims`, in row-major order, one after the other."""
    if not dims:
        return step(builder, places, carried)
    first, size, step_size = builder.index(0), state.size(dims[0]), builder.index(1)
    block = Block(arg_types=[IndexType(), carried.type])
    inner = Builder(block, builder.location)
    result = nest(state, inner, dims[1:], [*places, block.args[0]], block.args[1], step)
    inner.append(scf.YieldOp(result))
    return builder.value(scf.ForOp(first, size, step_size, [carried], block))
