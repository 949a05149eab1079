"""The function of a kernel: what its caller passes, and where the values of its stages lie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import FunctionType, IndexType, MemRefType, StringAttr
from xdsl.ir import Attribute, Block, Region, SSAValue

from kina.machine import Machine
from kina.passes.builder import INDEX
from kina.passes.kernels.ops import Count, Ops
from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.graph import UNIT, Access, Shape, element_of, factors_of, shape_of
from kina.passes.scheduling.kernels import Kernel
from kina.passes.scheduling.space import Loops, Size, Space

Places = dict[int, Count]
"""Where each loop of the kernel stands, counted in iterations of the whole loop."""


@dataclass
class KernelFunction:
    """Arguments and memory of one kernel.

    Arguments: run-time sizes, then first iteration and number of iterations of each ranged loop,
    then one `memref<T>` per tensor (a bare pointer in C), then other scalars. `sizes`,
    `pointers` and `scalars` record what the caller must pass.
    """

    kernel: Kernel
    space: Space
    name: str
    machine: Machine
    few: bool = False
    """Whether there are so few rows that short code counts for more than speed."""
    sizes: dict[Size, SSAValue] = field(default_factory=dict)
    pointers: dict[SSAValue, SSAValue] = field(default_factory=dict)
    scalars: dict[SSAValue, SSAValue] = field(default_factory=dict)
    ranges: dict[int, tuple[SSAValue, SSAValue]] = field(default_factory=dict)
    block: Block = field(default_factory=Block)

    def __post_init__(self) -> None:
        self.first: SSAValue | None = None
        self.piece: SSAValue | None = None
        self.work_start: SSAValue | None = None
        self.work: SSAValue | None = None
        self.shift: SSAValue | None = None
        self.work_size = 0
        """Elements of the memory that each thread has for itself."""
        self.strategy = ""
        """How it runs, in a word, and on how many lanes."""
        self.lanes = 0
        self.helpers: list[func.FuncOp] = []
        """Functions that the loops call."""
        self.left_out: list[str] = []
        """What is not computed, in words."""
        self.scalar_parts = Counter[str]()
        """What goes element by element."""
        self._buffers: dict[SSAValue, SSAValue] = {}
        self._shapes: dict[SSAValue, Shape] = {}
        self._stages = {stage.value: stage for stage in self.kernel.stages}
        location = self.kernel.stages[0].node.op.location
        self.entry = Ops(Block(), location)
        """What is done once, before all loops."""
        self.ops = Ops(Block(), location)
        """The body."""
        for loop in self.space.ranged:
            self.ranges[loop] = self._argument(INDEX), self._argument(INDEX)
        if self.space.block is not None:
            self.first = self._argument(INDEX)
        if self.space.in_pieces:
            self.piece = self._argument(INDEX)

    def finish(self) -> func.FuncOp:
        """The function, once `ops` holds the body."""
        for part in (self.entry.block, self.ops.block):
            for op in list(part.ops):
                op.detach()
                self.block.add_op(op)
        self.block.add_op(func.ReturnOp())
        signature = FunctionType.from_lists([argument.type for argument in self.block.args], [])
        return func.FuncOp(self.name, signature, Region(self.block), StringAttr("private"))

    def _argument(self, kind: Attribute) -> SSAValue:
        return self.block.insert_arg(kind, len(self.block.args))

    # What comes from the caller.

    def size(self, size: Size) -> Count:
        """A size, an argument if it is known only at run time."""
        if not size.factors:
            return size.known
        if size not in self.sizes:
            self.sizes[size] = self._argument(INDEX)
        return self.sizes[size]

    def scalar(self, value: SSAValue) -> SSAValue:
        """A scalar from outside of all kernels."""
        if value not in self.scalars:
            self.scalars[value] = self._argument(value.type)
        return self.scalars[value]

    def buffer(self, value: SSAValue) -> SSAValue:
        """The memory of a tensor, as one dimension."""
        if value not in self._buffers:
            if value not in self.pointers:
                self.pointers[value] = self._argument(MemRefType(element_of(value), []))
            self._buffers[value] = self.entry.flat(self.pointers[value])
        return self._buffers[value]

    def scratch(self, element: Attribute, lanes: int) -> SSAValue:
        """Memory on the stack for one vector, dead after its use."""
        return self.entry.value(memref.AllocaOp.get(element, 64, [lanes]))

    def workspace(self, element: Attribute, size: int) -> tuple[SSAValue, Count]:
        """Memory of the running thread's own, from the caller, and where it begins."""
        self.work_size = size
        self.work_start = self._argument(INDEX)
        self.work = self._argument(MemRefType(element, []))
        return self.entry.flat(self.work), self.work_start

    def stage_of(self, value: SSAValue) -> Stage | None:
        """The stage of this kernel that makes a value."""
        return self._stages.get(value)

    def bounds(self, loop: int) -> tuple[Count, Count]:
        """The first iteration of a loop and the number of iterations that a call does."""
        if loop in self.ranges:
            return self.ranges[loop]
        return 0, self.size(self.space.size(loop))

    # Where elements lie.

    def loops(self, stage: Stage, access: Access) -> Loops:
        """The loops that an access of a stage walks."""
        return self.space.access(self.kernel.frame, stage, access)

    def strides(self, value: SSAValue, stage: Stage, access: Access) -> dict[int, Size]:
        """How many elements apart the iterations of each loop are."""
        shape = self._shape(value)
        all_strides = self.space.strides(self.kernel.frame, stage, access, shape)
        return {loop: all_strides[loop] for loop in self.loops(stage, access)}

    def stride(self, value: SSAValue, stage: Stage, access: Access, loop: int) -> Count:
        """How many elements apart the iterations of one loop are; 0 if it is not walked."""
        strides = self.strides(value, stage, access)
        return self.size(strides[loop]) if loop in strides else 0

    def offset(
        self, ops: Ops, value: SSAValue, stage: Stage, access: Access, places: Places
    ) -> Count:
        """The element that `access` reads or writes at these places."""
        total = self.entry.plus(self._start(value, access), self._shifted(value))
        for loop, stride in self.strides(value, stage, access).items():
            if loop in places:
                total = ops.plus(total, ops.times(places[loop], self.size(stride)))
            if loop == self.space.last and self.first is not None:
                total = ops.plus(total, ops.times(self.first, self._fiber(stride)))
        if self.piece is not None and self._is_partial(value, stage):
            whole = self.size(Size.product(shape_of(value)))
            total = ops.plus(total, ops.times(self.piece, whole))
        return total

    def _shifted(self, value: SSAValue) -> Count:
        """How far the rows of a pipeline's block lie from where they would in the whole tensor."""
        row = self.kernel.private_row(value)
        if row is None:
            return 0
        if self.shift is None:
            self.shift = self._argument(INDEX)
        return self.entry.times(self.shift, self.size(Size.product(row)))

    def _shape(self, value: SSAValue) -> Shape:
        """The sizes of the tensor whose memory a value is laid out in."""
        if value not in self._shapes:
            self._shapes[value] = shape_of(self._home(value))
        return self._shapes[value]

    def _home(self, value: SSAValue) -> SSAValue:
        """The tensor whose memory a value is laid out in."""
        stage = self._stages.get(value)
        return value if stage is None or value is not stage.value else stage.home

    def _start(self, value: SSAValue, access: Access) -> Count:
        """Where a window begins, counted from the first element of its tensor."""
        total: Count = 0
        if not access.is_window:
            return total
        entry, shape = self.entry, self._shape(value)
        for position, shift in enumerate(access.shifts):
            stride = Size.product(shape[position + 1 :])
            for term in shift or ():
                distance = term if isinstance(term, int) else self._distance(term)
                total = entry.plus(total, entry.times(distance, self.size(stride)))
        return total

    def _distance(self, value: SSAValue) -> SSAValue:
        scalar = self.scalar(value)
        if isinstance(scalar.type, IndexType):
            return scalar
        return self.entry.value(arith.IndexCastOp(scalar, INDEX))

    def _fiber(self, stride: Size) -> Count:
        """From the stride of a block to that of a fiber."""
        return self.size(Size(stride.known // (self.space.block or 1), stride.factors))

    def _is_partial(self, value: SSAValue, stage: Stage) -> bool:
        """Whether a value is what a piece reduced."""
        return stage.node.axis is not None and value in stage.node.op.results

    def element_at(self, ops: Ops, value: SSAValue, indices: Sequence[SSAValue]) -> Count:
        """Where the element of a whole tensor at computed indices lies."""
        dims = [Size.product(factors) for factors in factors_of(value)]
        total = self._shifted(value)
        for position, index in enumerate(indices):
            stride = self.size(Size.product_of(dims[position + 1 :]))
            total = ops.plus(total, ops.times(index, stride))
        return total

    def index(self, ops: Ops, dim: int, places: Places) -> SSAValue:
        """The index along a dimension of the frame."""
        loop = self.space.loop(dim)
        total: Count = 0
        if loop == UNIT:
            return ops.index(0)
        for part in self.space.split([loop]):
            total = ops.plus(total, ops.times(places[part], self.space.step(part)))
        if loop == self.space.last and self.first is not None:
            total = ops.plus(total, self.first)
        return ops.index(total)
