"""Contractions that are done in tiles: which factor walks rows, and which one columns."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import linalg
from xdsl.dialects.builtin import f32, i8, i16
from xdsl.ir import Attribute, Operation, SSAValue

from kina.frozen import frozen
from kina.machine import Machine
from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.graph import UNIT
from kina.passes.scheduling.kernels import Kernel
from kina.passes.scheduling.products import Products, products_of
from kina.passes.scheduling.space import Space


@frozen
class Factor:
    """One factor of the products: the scalar of the stage's body, and what computes it."""

    value: SSAValue
    ops: frozenset[Operation]
    loops: frozenset[int]
    """The loops that it walks."""


@frozen
class Roles:
    """A chain of products whose left factor walks `rows`, and whose right one `columns`.

    Columns are what vectors run along. A matrix times a vector has no rows.
    """

    stage: Stage
    rows: int | None
    columns: int
    left: Factor
    right: Factor
    element: Attribute
    """What the factors are multiplied as: F32, or the integers of a dot product."""


def roles_of(kernel: Kernel, space: Space, machine: Machine) -> Roles | None:
    """How a kernel is done in tiles; None if it is not.

    It has one chain of fused multiply-adds, or one sum of products of small integers, and beside
    it only values of each of its elements.
    """
    if space.axis is None or space.axis < space.last - 1 or space.block is not None:
        return None
    found = {stage: products_of(stage, machine) for stage in kernel.stages}
    products = [(stage, made) for stage, made in found.items() if made is not None]
    others = [stage for stage in kernel.stages if found[stage] is None]
    if len(products) != 1 or products[0][1].element not in (f32, i8, i16):
        return None
    frame = kernel.frame
    if any(stage.node.axis is not None or frame.is_full(stage) for stage in others):
        return None
    return _roles(kernel, space, *products[0], machine)


def _roles(
    kernel: Kernel, space: Space, stage: Stage, products: Products, machine: Machine
) -> Roles | None:
    factors = [_factor(kernel, space, stage, value) for value in products.factors]
    if any(stage.block.args[-1] in op.operands for factor in factors for op in factor.ops):
        return None
    element = products.element
    roles = [_as_roles(space, stage, element, *pair) for pair in (factors, factors[::-1])]
    found = [each for each in roles if each is not None]
    fitting = [each for each in found if _fits(kernel, space, each, machine)]
    return max(fitting, key=lambda each: each.columns, default=None)


def _as_roles(
    space: Space, stage: Stage, element: Attribute, left: Factor, right: Factor
) -> Roles | None:
    """How the loops fall to the factors in this order; None if the right one has no columns."""
    rows, columns = _own(space, left, right), _own(space, right, left)
    if not columns:
        return None
    return Roles(stage, rows[-1] if rows else None, columns[-1], left, right, element)


def _fits(kernel: Kernel, space: Space, roles: Roles, machine: Machine) -> bool:
    """Whether columns may fill vectors, and lie together in the result or are those of few rows.

    Sums of integers that a pipeline's blocks add to are done as any other reduction.
    """
    if roles.element != f32 and kernel.carries:
        return False
    size = space.sizes[roles.columns]
    if not size.factors and size.known < machine.least_columns:
        return False
    if roles.rows is None or roles.columns == max(space.parallel):
        return True
    rows = space.sizes[roles.rows]
    return not rows.factors and rows.known <= machine.few_rows


def _own(space: Space, factor: Factor, other: Factor) -> list[int]:
    """The loops over results that one factor walks and the other does not."""
    return [loop for loop in space.parallel if loop in factor.loops and loop not in other.loops]


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
