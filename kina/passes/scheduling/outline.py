"""Turns a kernel into a function of its own: pointers, sizes and the range of rows to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.dialects import arith, func, linalg, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    FunctionType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    TensorType,
    UnitAttr,
    i8,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from kina.passes.extrema import settles_extrema
from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.generic import (
    INDEX,
    MATERIALIZE,
    TO_TENSOR,
    KnownSize,
    all_of,
    copy,
    generic,
    index_constant,
    index_op,
    view_of,
)
from kina.passes.scheduling.graph import (
    Access,
    element_of,
    factors_of,
    owner,
    shape_of,
    static_shape,
)
from kina.passes.scheduling.kernels import Kernel
from kina.passes.scheduling.lanes import build_contest
from kina.passes.scheduling.space import Part, Size, Space
from kina.passes.scheduling.traffic import attributes_of, function_attribute

EXTREMA = "kina-extrema"
"""The attribute of an LLVM function that says what NaNs and zeros mean to its extrema."""


@dataclass
class KernelBuilder:
    """Builds the function of one kernel.

    Arguments: run-time sizes, then first iteration and number of iterations of each ranged loop,
    then one `memref<T>` per tensor (a bare pointer in C), then other scalars. `sizes`,
    `pointers` and `scalars` record what the caller must pass.
    """

    kernel: Kernel
    space: Space
    name: str
    sizes: dict[Size, SSAValue] = field(default_factory=dict)
    pointers: dict[SSAValue, SSAValue] = field(default_factory=dict)
    scalars: dict[SSAValue, SSAValue] = field(default_factory=dict)
    ranges: dict[int, tuple[SSAValue, SSAValue]] = field(default_factory=dict)
    block: Block = field(default_factory=Block)
    roots: list[Access] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._counted = 0
        self._buffers: dict[SSAValue, SSAValue] = {}
        self.first: SSAValue | None = None
        self.made: dict[SSAValue, SSAValue] = {}
        self.piece: SSAValue | None = None
        self._wholes: dict[SSAValue, SSAValue] = {}
        self._views: dict[tuple[SSAValue, Access], SSAValue] = {}
        self._indices: dict[int, SSAValue] = {}

    def build(self) -> func.FuncOp:
        """The private function."""
        space = self.space
        self.ranges = {n: (self._argument(INDEX), self._argument(INDEX)) for n in space.ranged}
        if space.block is not None:
            self.first = self._argument(INDEX)
        if space.in_pieces:
            self.piece = self._argument(INDEX)
        for stage in self.kernel.stages:
            self.made[stage.value] = self._stage(stage)
        # Roots in the order of their ops, all stores after the last: then their loops can merge.
        copies_last = sorted(self.kernel.outputs, key=self._used_inside)
        self.block.add_ops([self._store(value) for value in copies_last])
        self.block.add_op(func.ReturnOp())
        hints = attributes_of(self.kernel, self.space, self._hint)
        if settles_extrema(self.block):
            hints.append(function_attribute(EXTREMA, "settled"))
        signature = FunctionType.from_lists([argument.type for argument in self.block.args], [])
        function = func.FuncOp(self.name, signature, Region(self.block), StringAttr("private"))
        if hints:
            function.attributes["passthrough"] = ArrayAttr(hints)
        return function

    def _hint(self, value: SSAValue, size: Size) -> str:
        """For the back end: the places of a tensor's argument and of that of a size."""
        number = self.size(size) if size.factors else None
        place = self.block.args.index
        written = size.known if number is None else f"%{place(number)}"
        return f"{place(self.pointers[value])}:{written}"

    # What comes from the caller.

    def _argument(self, kind: Attribute) -> SSAValue:
        return self.block.insert_arg(kind, len(self.block.args))

    def add(self, op: Operation) -> SSAValue:
        """Appends an op; its first result."""
        self.block.add_op(op)
        return op.results[0]

    def index(self, value: int) -> SSAValue:
        """An index constant."""
        if value not in self._indices:
            self._indices[value] = self.add(arith.ConstantOp.from_int_and_width(value, INDEX))
        return self._indices[value]

    def size(self, size: Size) -> SSAValue:
        """A size as a value in the kernel."""
        if not size.factors:
            return self.index(size.known)
        if size not in self.sizes:
            self.sizes[size] = self._argument(INDEX)
        return self.sizes[size]

    def _pointer(self, value: SSAValue) -> SSAValue:
        if value not in self.pointers:
            self.pointers[value] = self._argument(MemRefType(element_of(value), []))
        return self.pointers[value]

    # Tensors.

    def _loop_size(self, loop: int, part: Part | None = None) -> KnownSize:
        """The static size of a loop, or the value of its run-time size."""
        if part is not None and (size := part.size(loop)) is not None:
            return (size, None) if isinstance(size, int) else (DYNAMIC_INDEX, size)
        if loop in self.ranges:
            return DYNAMIC_INDEX, self.ranges[loop][1]
        return self._known_or_argument(self.space.size(loop))

    def _cast(
        self,
        value: SSAValue,
        sizes: Sequence[KnownSize],
        strides: list[Size],
        offset: SSAValue | None,
    ) -> SSAValue:
        """A buffer of `value` seen with these sizes and strides."""
        steps = [self._known_or_argument(stride) for stride in strides]
        return self.add(view_of(self._pointer(value), sizes, steps, offset))

    def _view(
        self, value: SSAValue, frame_access: Access, stage: Stage, part: Part | None = None
    ) -> SSAValue:
        """The part of a stored tensor that this call works on, as a memref over loops."""
        space = self.space
        loops = space.access(self.kernel.frame, stage, frame_access)
        strides = space.strides(self.kernel.frame, stage, frame_access, shape_of(value))
        offset = None
        if (
            self.piece is not None
            and stage.node.axis is not None
            and value in stage.node.op.results
        ):
            offset = self._plus(None, self.piece, Size.product(shape_of(value)))
        for loop in loops:
            if loop in self.ranges:
                offset = self._plus(offset, self.ranges[loop][0], strides[loop])
        if space.last in loops and self.first is not None:
            offset = self._plus(offset, self.first, strides[space.last + 1])
        if part is not None:
            first = self.index(part.first) if isinstance(part.first, int) else part.first
            offset = self._plus(offset, first, strides[part.axis])
            loops, strides = part.loops(loops), part.strides(strides)
        sizes = [self._loop_size(loop, part) for loop in loops]
        return self._cast(value, sizes, [strides[loop] for loop in loops], offset)

    def _plus(self, offset: SSAValue | None, count: SSAValue, stride: Size) -> SSAValue:
        step = self.add(arith.MuliOp(count, self.size(stride)))
        return step if offset is None else self.add(arith.AddiOp(offset, step))

    def _tensor(self, buffer: SSAValue, writable: bool = False) -> SSAValue:
        kind = TensorType(element_of(buffer), static_shape(buffer))
        flags: dict[str, Attribute] = {"restrict": UnitAttr()}
        if writable:
            flags["writable"] = UnitAttr()
        return self.add(TO_TENSOR.create(operands=[buffer], result_types=[kind], properties=flags))

    def read(self, value: SSAValue, access: Access, stage: Stage) -> SSAValue:
        """A tensor that a stage reads: made in this kernel, or stored."""
        if value in self.made:
            return self.made[value]
        key = (value, self.space.access(self.kernel.frame, stage, access))
        if key not in self._views:
            self._views[key] = self._sized(self._tensor(self._view(value, access, stage)), key[1])
        return self._views[key]

    def read_part(self, value: SSAValue, access: Access, stage: Stage, part: Part) -> SSAValue:
        """A stored tensor as a part of the axis sees it."""
        loops = self.space.access(self.kernel.frame, stage, access)
        if part.axis not in loops:
            return self.read(value, access, stage)
        view = self._tensor(self._view(value, access, stage, part))
        return self._sized(view, part.loops(loops), part)

    def _sized(self, whole: SSAValue, loops: Access, part: Part | None = None) -> SSAValue:
        """A slice that is all of `whole`: it tells upstream that equal loops have equal sizes."""
        sizes = [self._loop_size(loop, part) for loop in loops]
        dynamic = [v for _, v in sizes if v is not None]
        if not dynamic:
            return whole
        return self.add(all_of(whole, [size for size, _ in sizes], dynamic))

    def _whole(self, value: SSAValue) -> SSAValue:
        """All of a stored tensor, for reads at computed places."""
        if value not in self._wholes:
            dims = [Size.product(factors) for factors in factors_of(value)]
            sizes = [self._known_or_argument(dim) for dim in dims]
            strides = [Size.product_of(dims[i + 1 :]) for i in range(len(dims))]
            self._wholes[value] = self._tensor(self._cast(value, sizes, strides, None))
        return self._wholes[value]

    def _known_or_argument(self, size: Size) -> KnownSize:
        return size.static, self.size(size) if size.factors else None

    # Stages.

    def empty(self, loops: Sequence[int], element: Attribute, part: Part | None = None) -> SSAValue:
        """A tensor over loops, without values."""
        sizes = [self._loop_size(loop, part) for loop in loops]
        kind = TensorType(element, [s for s, _ in sizes])
        return self.add(tensor.EmptyOp([v for _, v in sizes if v is not None], kind))

    def _stage(self, stage: Stage) -> SSAValue:
        if stage.node.is_contest:
            return build_contest(self, stage)
        frame, space = self.kernel.frame, self.space
        loops = space.loops(frame, stage)
        number = {loop: i for i, loop in enumerate(loops)}
        made = space.access(frame, stage, stage.node.accesses[-1])
        inputs = [self.read(v, a, stage) for v, a in stage.leaves]
        walks = [space.access(frame, stage, a) for _, a in stage.leaves]
        if stage.position is not None:
            inputs.append(self._positions(cast(IntegerType, stage.position.type)))
            walks.append(() if space.axis is None else (space.axis,))
        bare = self._unwalked(loops, walks, made)
        if bare:
            inputs.append(self.empty(bare, i8))
            walks.append(bare)
        walks.append(made)
        maps = [
            AffineMap(len(loops), 0, tuple(AffineExpr.dimension(number[w]) for w in walk))
            for walk in walks
        ]
        start = self.target(stage)
        kinds = ["parallel"] * len(loops)
        if stage.node.axis is not None:
            start = self.filled(stage.node.op.outputs[0], start)
            if space.axis is not None:
                kinds[number[space.axis]] = "reduction"
        body = self.body(stage, number)
        if bare:
            body.insert_arg(i8, len(body.args) - 1)
        return self.add(generic(inputs, [start], body, maps, kinds))

    def filled(self, like: SSAValue, target: SSAValue) -> SSAValue:
        """`target` with the start value of a reduction, as `like` has it."""
        fill = like.owner
        assert isinstance(fill, linalg.ops.FillOp)
        constant = owner(fill.inputs[0])
        assert constant is not None
        constant = self.add(constant.clone())
        return self.add(linalg.ops.FillOp([constant], [target], [target.type]))

    def _unwalked(self, loops: Access, walks: Sequence[Access], made: Access) -> Access:
        """Loops whose size no input tells: an input that is never read has to.

        Upstream needs it of a reduced axis; for the others so that equal loops have one size.
        """
        told = {loop for walk in walks for loop in walk}
        bare = tuple(loop for loop in loops if loop not in told)
        sized = all(loop in made and self._loop_size(loop)[1] is None for loop in bare)
        return () if sized else bare

    def _positions(self, kind: IntegerType) -> SSAValue:
        """The numbers 0, 1, … along the reduced axis, in an op of its own for each reader."""
        loops = () if self.space.axis is None else (self.space.axis,)
        body = Block(arg_types=[kind])
        if loops:
            ops: list[Operation] = [index := index_op(0)]
            if self.space.in_pieces:
                ops.append(arith.AddiOp(index.results[0], self.ranges[loops[0]][0]))
            ops.append(arith.IndexCastOp(ops[-1].results[0], kind))
        else:
            ops = [arith.ConstantOp(IntegerAttr(0, kind))]
        body.add_ops([*ops, linalg.ops.YieldOp(ops[-1].results[0])])
        maps = [AffineMap.identity(len(loops))]
        op = generic([], [self.empty(loops, kind)], body, maps, ["parallel"] * len(loops))
        op.attributes["kina.positions"] = IntegerAttr(self._counted, i64)
        self._counted += 1
        return self.add(op)

    def body(self, stage: Stage, number: dict[int, int]) -> Block:
        """The stage's body, with indices counted in the loops of this kernel."""
        block = Block(arg_types=[a.type for a in stage.block.args])
        values: dict[SSAValue, SSAValue] = dict(zip(stage.block.args, block.args, strict=True))
        block.add_ops(op.clone(values) for op in stage.block.ops)
        mine = self.kernel.frame.dim_map(stage)
        outside = {v: self._whole(v) for v in stage.captured}
        for value in stage.scalars:
            if value not in self.scalars:
                self.scalars[value] = self._argument(value.type)
            outside[value] = self.scalars[value]
        for op in list(block.walk()):
            for i, operand in enumerate(op.operands):
                op.operands[i] = outside.get(operand, operand)
            if isinstance(op, linalg.ops.IndexOp):
                self._renumber(op, self.space.loop(mine[op.dim.value.data]), number, block)
        return block

    def _renumber(
        self, op: linalg.ops.IndexOp, loop: int, number: dict[int, int], block: Block
    ) -> None:
        new: list[Operation] = []

        def add(made: Operation) -> SSAValue:
            new.append(made)
            return made.results[0]

        total: SSAValue | None = None
        for part in self.space.split([loop]):
            index = add(index_op(number[part]))
            if part in self.ranges:
                index = add(arith.AddiOp(index, self.ranges[part][0]))
            if (step := self.space.step(part)) != 1:
                index = add(arith.MuliOp(index, add(index_constant(step))))
            total = index if total is None else add(arith.AddiOp(total, index))
        if total is not None and loop == self.space.last and self.first is not None:
            total = add(arith.AddiOp(total, self.first))
        op.result.replace_all_uses_with(add(index_constant(0)) if total is None else total)
        block.insert_ops_before(new, op)
        block.erase_op(op)

    def _used_inside(self, value: SSAValue) -> bool:
        return any(v is value for s in self.kernel.stages for v, _ in s.leaves)

    def target(self, stage: Stage, value: SSAValue | None = None) -> SSAValue:
        """Where a stage writes: straight to its buffer if it is stored and not read again.

        `value` is the best one of a contest, if not what the stage computes.
        """
        made = self.space.access(self.kernel.frame, stage, stage.node.accesses[-1])
        value = stage.value if value is None else value
        if value not in self.kernel.outputs or self._used_inside(value):
            return self.empty(made, element_of(value))
        return self._destination(stage, value)

    def _destination(self, stage: Stage, value: SSAValue) -> SSAValue:
        """The buffer of a stored value, as a tensor to write to."""
        self._buffers[value] = buffer = self._view(value, stage.node.accesses[-1], stage)
        return self._tensor(buffer, writable=True)

    def _store(self, value: SSAValue) -> Operation:
        """Marks the op that makes `value` as a root and ties it to its buffer.

        A value that the row goes on to use is stored through a copy, so that roots end chains.
        """
        stage = next(s for s in self.kernel.stages if value in s.node.op.results)
        result = self.made[value]
        loops = self.space.loops(self.kernel.frame, stage)
        if self._used_inside(value):
            result = self.add(copy(result, self._destination(stage, value)))
        root = result.owner
        assert isinstance(root, linalg.ops.GenericOp)
        if len(root.iterator_types) < len(loops):  # a copy has no loop over the axis
            loops = tuple(loop for loop in loops if loop != self.space.axis)
        root.attributes["kina.root"] = IntegerAttr(len(self.roots), i64)
        self.roots.append(loops)
        flags = {"restrict": UnitAttr(), "writable": UnitAttr()}
        return MATERIALIZE.create(operands=[result, self._buffers[value]], properties=flags)
