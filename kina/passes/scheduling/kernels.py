"""Groups stages into kernels: stages of one kernel run in the same loop over rows.

A kernel has `dims`, at most one of them the reduced `axis`; the others are its rows. A stage
runs over all of `dims`, or over the rows alone. Kernels and the ops that stay outside form one
sequence: a stage may join a kernel only if all that it needs comes from it or from before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from xdsl.dialects import arith, bufferization, linalg, memref, tensor
from xdsl.ir import Block, Operation, SSAValue

from kina.frozen import frozen
from kina.machine import Machine
from kina.order import chunk_of
from kina.passes.scheduling.behind import Behind
from kina.passes.scheduling.bounds import NOTHING, Bounds
from kina.passes.scheduling.fusion import Fuser, Stage
from kina.passes.scheduling.graph import (
    UNIT,
    Access,
    Node,
    Shape,
    base_of,
    is_unit_view,
    node_of,
    viewed,
)
from kina.passes.scheduling.products import products_of
from kina.passes.scheduling.selections import lists_to_store
from kina.passes.scheduling.storing import stored
from kina.passes.scheduling.sums import sums_to_store
from kina.passes.scheduling.taken import is_ordered, read_before

# Ops that only name sizes, constants and tensors: they never order anything.
NAMES = (
    arith.ConstantOp, arith.IndexCastOp, bufferization.ToTensorOp, memref.ReinterpretCastOp,
    tensor.EmptyOp, tensor.DimOp, tensor.ExpandShapeOp, tensor.CollapseShapeOp, linalg.ops.FillOp,
    tensor.ExtractSliceOp, tensor.InsertSliceOp,
)  # fmt: skip


@frozen
class Frame:
    """The iteration space of a kernel: `dims`, of which `axis` is reduced."""

    dims: Shape
    axis: int | None
    deep: int
    """Elements of an interior axis that a core's cache does not hold for a band of fibers."""

    @property
    def rows(self) -> tuple[int, ...]:
        """The parallel dimensions."""
        return tuple(i for i in range(len(self.dims)) if i != self.axis)

    @property
    def row_sizes(self) -> Shape:
        """The sizes of the parallel dimensions."""
        return tuple(self.dims[i] for i in self.rows)

    def is_full(self, stage: Stage) -> bool:
        """Whether a stage runs over all of `dims`, not over the rows alone."""
        return squeezed(stage.dims) == squeezed(self.dims)

    def dim_map(self, stage: Stage) -> tuple[int, ...]:
        """The frame's dimension for each iteration dimension of `stage`, UNIT for size 1."""
        within = range(len(self.dims)) if self.is_full(stage) else self.rows
        rest = iter(i for i in within if self.dims[i] != 1)
        return tuple(UNIT if size == 1 else next(rest) for size in stage.dims)

    def place(self, stage: Stage, access: Access) -> tuple[int, ...]:
        """The frame's dimensions that `access` walks, in order, leaving out those of size 1."""
        mine = self.dim_map(stage)
        return tuple(mine[d] for d in access if d != UNIT and mine[d] != UNIT)

    def with_stage(self, stage: Stage) -> Frame | None:
        """The frame when `stage` joins, None if the sizes do not fit."""
        axis = stage.node.axis
        if axis is None:
            if self.is_full(stage):
                return None if self.is_deep else self
            is_row = self.axis is not None and squeezed(stage.dims) == squeezed(self.row_sizes)
            return self if is_row else None
        new = Frame(stage.dims, axis, self.deep)
        if new.is_deep and self.axis is None and self.is_full(stage):
            return None
        same_rows = squeezed(self.dims) in (squeezed(new.dims), squeezed(new.row_sizes))
        return new if new == self or (self.axis is None and same_rows) else None

    @property
    def is_interior(self) -> bool:
        """Whether an axis is reduced that is not the last."""
        return self.axis is not None and self.axis != len(self.dims) - 1

    @property
    def chunk(self) -> int:
        """Elements of the axis that are summed for themselves."""
        return chunk_of(interior=self.is_interior)

    @property
    def is_deep(self) -> bool:
        """Whether a band of fibers along an interior axis is too long to stay in a core's cache.

        What is written per element then does better in a loop of its own, in memory order; so it
        does beside a single fiber, which has no neighbours to be vectors with.
        """
        if self.axis is None or not self.is_interior:
            return False
        size, *beside = self.dims[self.axis :]
        return not isinstance(size, int) or size > self.deep or not squeezed(tuple(beside))

    def aligned(self, stage: Stage, producer: Stage, access: Access) -> bool:
        """Whether `stage` reads of `producer` only what the same row computed."""
        made = self.place(producer, producer.node.accesses[-1])
        same = self.place(stage, access) == made and not access.is_window
        return same and self.axis not in made


@dataclass(eq=False)
class Member:
    """What a kernel is in a pipeline: a call does a block of `rows`, dimensions of its frame.

    With `carries`, the last of them is the axis, and each call goes on with what the calls before
    have left. `private` are the tensors of which there is one block: how many elements of them
    belong to a row. Of its result only that is read which lies `within`; `masked` are those of the
    private tensors that may hold long runs of zeros.
    """

    rows: tuple[int, ...]
    carries: bool
    private: dict[SSAValue, Shape] = field(default_factory=dict[SSAValue, Shape])
    within: Bounds = NOTHING
    masked: frozenset[SSAValue] = frozenset()


@dataclass(eq=False)
class Kernel:
    """Stages that share one loop over rows; `outputs` are the values stored in memory."""

    frame: Frame
    stages: list[Stage] = field(default_factory=list)
    outputs: list[SSAValue] = field(default_factory=list)
    member: Member | None = None

    @property
    def rows(self) -> tuple[int, ...]:
        """The dimensions that walk the rows of a pipeline."""
        return self.member.rows if self.member else ()

    @property
    def carries(self) -> bool:
        """Whether a call goes on with what others have left."""
        return self.member is not None and self.member.carries

    def private_row(self, value: SSAValue) -> Shape | None:
        """The sizes of a row of a tensor that there is one block of; None for any other."""
        return self.member.private.get(base_of(value)) if self.member else None


Step = Kernel | Operation


class Plan:
    """The sequence of kernels and outside ops of one block."""

    def __init__(self, block: Block, machine: Machine) -> None:
        self._machine = machine
        self.steps: list[Step] = []
        self.nodes: dict[SSAValue, Node] = {}
        self._block = block
        self._position: dict[SSAValue, int] = {}
        self._stage: dict[SSAValue, Stage] = {}
        self._wanted: set[SSAValue] = set()
        self._homes: set[SSAValue] = set()
        """The tensors of which only windows are written."""
        self._collect()

    def _collect(self) -> None:
        for op in self._block.ops:
            if (node := node_of(op)) is not None:
                self.nodes[node.value] = node
        self._want_outside_uses()
        stages = self._fuse()
        for op in self._block.ops:
            if op.results and op.results[-1] in stages:
                self._place(stages[op.results[-1]])
            elif isinstance(op, tensor.InsertSliceOp):
                self._position[op.result] = max(
                    self._position[op.source], self._position.get(op.dest, 0)
                )
            elif not isinstance(op, NAMES) and not (op.results and op.results[-1] in self.nodes):
                self._keep(op)
        self._choose_outputs()

    def _want_outside_uses(self) -> None:
        for value in self.nodes:
            if self._read_outside(value):
                self._wanted.add(value)

    def _read_outside(self, value: SSAValue) -> bool:
        return any(self._is_outside(use.operation) for use in value.uses)

    def _is_outside(self, user: Operation) -> bool:
        if user.parent_block() is not self._block:
            return not self._captures(user)
        if isinstance(user, tensor.ExpandShapeOp | tensor.CollapseShapeOp) and is_unit_view(user):
            return self._read_outside(user.result)
        if isinstance(user, tensor.ExtractSliceOp) and not fills(user):
            return self._read_outside(user.result)
        return not isinstance(user, tensor.DimOp) and not (
            user.results and user.results[-1] in self.nodes
        )

    def _captures(self, user: Operation) -> bool:
        """Whether `user` stands in the body of a node of this block: the node then decides."""
        parent = user.parent_op()
        return parent is not None and bool(parent.results) and parent.results[-1] in self.nodes

    def _fuse(self) -> dict[SSAValue, Stage]:
        in_memory = stored(self.nodes, self._wanted, self._machine)
        in_memory |= read_before(self._block, self.nodes)
        self._wanted |= in_memory
        behind = Behind(self.nodes, in_memory, self._machine)
        stages: dict[SSAValue, Stage] = {}
        pending = [self.nodes[v] for v in self._wanted]
        while pending:
            node = pending.pop()
            if node.value in stages:
                continue
            stage = stages[node.value] = Fuser(node, self.nodes, behind.stays).build()
            read = [value for value, _ in stage.leaves]
            captured = [viewed(value) for value in stage.captured]
            pending += [self.nodes[v] for v in (*read, *captured) if v in self.nodes]
            self._wanted.update(v for v in captured if v in self.nodes)
        return stages

    def _keep(self, op: Operation) -> None:
        self._position.update((value, len(self.steps)) for value in op.results)
        self.steps.append(op)

    def _place(self, stage: Stage) -> None:
        self._stage[stage.value] = stage
        if stage.home is not stage.value:
            self._homes.add(base_of(stage.home))
        leaves = [(v, a, self._position[v]) for v, a in stage.leaves if v in self._stage]
        # Captured tensors, and leaves that are reshapes or windows, must be finished before.
        others = [v for v, _ in stage.leaves if v not in self._stage]
        bases = [viewed(v) for v in (*stage.captured, *stage.scalars, *others)]
        finished = [self._position[v] + 1 for v in bases if v in self._position]
        earliest = max([0, *(p for _, _, p in leaves), *finished])
        if is_ordered(stage.node.op):
            earliest = len(self.steps)
        for position in reversed(range(earliest, len(self.steps))):
            kernel = self.steps[position]
            if isinstance(kernel, Kernel) and self._fits(kernel, stage):
                frame = kernel.frame.with_stage(stage)
                inner = [(self._stage[v], a) for v, a, p in leaves if p == position]
                if frame and all(frame.aligned(stage, made, a) for made, a in inner):
                    kernel.frame = frame
                    break
        else:
            position, kernel = len(self.steps), self._alone(stage)
            self.steps.append(kernel)
        kernel.stages.append(stage)
        self._position[stage.value] = position

    def _fits(self, kernel: Kernel, stage: Stage) -> bool:
        """Whether a stage may join a kernel, for what it is and for what it reads."""
        return fits(kernel, stage, self._machine) and related(kernel, stage)

    def _alone(self, stage: Stage) -> Kernel:
        return Kernel(Frame(stage.dims, stage.node.axis, self._machine.deep))

    def _choose_outputs(self) -> None:
        """Values are stored that are read outside of the kernel that makes them."""
        wanted = set(self._wanted)
        for position, kernel in self.kernels():
            for stage in kernel.stages:
                wanted.update(v for v, _ in stage.leaves if self._position.get(v) != position)
        for _, kernel in self.kernels():
            kernel.outputs = [s.value for s in kernel.stages if s.value in wanted]
            axis = kernel.frame.axis
            depth = None if axis is None else kernel.frame.dims[axis]
            sums = sums_to_store(kernel.stages, kernel.outputs, depth, self._machine)
            if sums is not None:
                kernel.outputs.insert(0, sums)
            lists = lists_to_store(kernel.stages)
            if lists is not None:
                kernel.outputs.insert(0, lists)

    def makes(self, base: SSAValue) -> bool:
        """Whether kernels write the memory of a tensor."""
        return base in self.nodes or base in self._homes

    def drop(self, op: Operation) -> None:
        """Erases an op that stayed outside of the kernels."""
        self.steps.remove(op)
        self._block.erase_op(op)

    def kernels(self) -> Iterator[tuple[int, Kernel]]:
        """The kernels with their place in the sequence."""
        for position, step in enumerate(self.steps):
            if isinstance(step, Kernel):
                yield position, step


def squeezed(dims: Shape) -> Shape:
    """The sizes that are not 1."""
    return tuple(dim for dim in dims if dim != 1)


def fills(op: tensor.ExtractSliceOp) -> bool:
    """Whether a window is there to be written, not read."""
    users = [use.operation for use in op.result.uses]
    return any(isinstance(u, linalg.ops.GenericOp) and op.result in u.outputs for u in users)


def fits(kernel: Kernel, stage: Stage, machine: Machine) -> bool:
    """Whether a stage may run in a kernel at all: some are one by themselves.

    A scan, a selection, what writes over elements that others read before, and a sum of products
    beside another one: each is done in tiles of its own.
    """
    products = [made for made in (stage, *kernel.stages) if products_of(made, machine)]
    if stage in products and len(products) > 1:
        return False
    return not any(
        made.node.is_scan or made.node.is_selection or is_ordered(made.node.op)
        for made in (stage, *kernel.stages)
    )


def related(kernel: Kernel, stage: Stage) -> bool:
    """Whether the stage reads something that the kernel reads or makes."""
    made = {s.value for s in kernel.stages} | {v for s in kernel.stages for v, _ in s.leaves}
    return any(value in made for value, _ in stage.leaves) or any(v in made for v in stage.captured)
