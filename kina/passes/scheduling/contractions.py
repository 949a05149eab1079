"""Contractions that are done in tiles: which factor walks rows, and which one columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects import linalg, math
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from kina.machine import Machine
from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.graph import UNIT
from kina.passes.scheduling.kernels import Kernel
from kina.passes.scheduling.space import Space


@dataclass(frozen=True)
class Factor:
    """One factor of the products: the scalar of the stage's body, and what computes it."""

    value: SSAValue
    ops: frozenset[Operation]
    loops: frozenset[int]
    """The loops that it walks."""


@dataclass(frozen=True)
class Roles:
    """A chain of products whose left factor walks `rows` and whose right one the last loop."""

    stage: Stage
    rows: int
    left: Factor
    right: Factor


def roles_of(kernel: Kernel, space: Space, machine: Machine) -> Roles | None:
    """How a kernel is done in tiles; None if it is not.

    It has one chain of fused multiply-adds, and beside it only values of each of its elements.
    """
    chains = [stage for stage in kernel.stages if stage.node.is_chain]
    others = [stage for stage in kernel.stages if not stage.node.is_chain]
    if len(chains) != 1 or space.axis is None or space.axis != space.last - 1:
        return None
    frame = kernel.frame
    if any(stage.node.axis is not None or frame.is_full(stage) for stage in others):
        return None
    (stage,) = chains
    if space.block is not None or stage.element != f32:
        return None
    return _roles(kernel, space, stage, machine)


def _roles(kernel: Kernel, space: Space, stage: Stage, machine: Machine) -> Roles | None:
    last = stage.block.last_op
    assert last is not None
    fused = last.operands[0].owner
    assert isinstance(fused, math.FmaOp)
    left, right = (_factor(kernel, space, stage, value) for value in (fused.a, fused.b))
    if space.last in left.loops:
        left, right = right, left
    rows = [loop for loop in space.parallel if loop in left.loops and loop not in right.loops]
    if not rows or space.last in left.loops or space.last not in right.loops:
        return None
    if any(stage.block.args[-1] in op.operands for op in left.ops | right.ops):
        return None
    sizes = (space.sizes[rows[-1]], space.sizes[space.last])
    least = (machine.least_rows, machine.least_columns)
    if any(not size.factors and size.known < few for size, few in zip(sizes, least, strict=True)):
        return None
    return Roles(stage, rows[-1], left, right)


def _factor(kernel: Kernel, space: Space, stage: Stage, value: SSAValue) -> Factor:
    ops: set[Operation] = set()
    arguments: set[SSAValue] = set()
    pending = [value]
    while pending:
        found = pending.pop()
        if not isinstance(found.owner, Operation):
            arguments.add(found)
        elif found.owner.parent_block() is stage.block and found.owner not in ops:
            ops.add(found.owner)
            pending += found.owner.operands
    return Factor(value, frozenset(ops), frozenset(_walked(kernel, space, stage, ops, arguments)))


def _walked(
    kernel: Kernel, space: Space, stage: Stage, ops: set[Operation], arguments: set[SSAValue]
) -> Iterator[int]:
    for argument, (_, access) in zip(stage.block.args, stage.leaves, strict=False):
        if argument in arguments:
            yield from space.access(kernel.frame, stage, access)
    dims = kernel.frame.dim_map(stage)
    for op in ops:
        if isinstance(op, linalg.ops.IndexOp):
            loop = space.loop(dims[op.dim.value.data])
            if loop != UNIT:
                yield loop
