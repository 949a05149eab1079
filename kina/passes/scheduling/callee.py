"""The function of a kernel, and what its caller passes to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Attribute, SSAValue

from kina.machine import Machine
from kina.passes.builder import INDEX, Builder
from kina.passes.kernels.function import KernelFunction
from kina.passes.kernels.strategies import build
from kina.passes.scheduling.buffers import Buffers, Workspace, index_of
from kina.passes.scheduling.contractions import roles_of
from kina.passes.scheduling.graph import canonical_dim
from kina.passes.scheduling.join import OUT_OF_LINE, SMALL_CODE
from kina.passes.scheduling.kernels import Kernel
from kina.passes.scheduling.report import describe
from kina.passes.scheduling.same import Shared
from kina.passes.scheduling.space import Size, Space

THREADS, RUN = "kina$threads", "kina$run"
"""The functions of the pool; no program has a `$` in a name."""

Ranges = dict[int, tuple[SSAValue, SSAValue]]
"""The first iteration and the number of iterations of some loops."""
Memory = Mapping[SSAValue, SSAValue]
"""The pointers of some tensors."""


@dataclass
class Caller:
    """What the calls of all kernels of one function share."""

    module: ModuleOp
    name: str
    buffers: Buffers
    threads: bool
    machine: Machine
    shared: Shared
    """The functions that equal kernels of the module have in common."""
    described: list[str] = field(default_factory=list[str])
    """What the kernels are, in words."""
    kernels: int = 0
    """How many were named."""
    _works: dict[bool, Workspace] = field(default_factory=dict[bool, Workspace])
    _team: SSAValue | None = None

    def new_name(self) -> str:
        """The name of the next kernel; no program has a `$` in a name."""
        self.kernels += 1
        return self.last_kernel

    @property
    def last_kernel(self) -> str:
        """The name of the kernel that was formed last."""
        return f"{self.name}${self.kernels - 1}"

    def workspace(self, size: int, *, shared: bool) -> SSAValue:
        """Memory of so many elements of F32, for each thread of a team if it is `shared`."""
        if shared not in self._works:
            one = arith.ConstantOp.from_int_and_width(1, INDEX)
            threads = self.team if shared else self.buffers.on_entry(one)
            self._works[shared] = self.buffers.workspace(threads)
        return self._works[shared].pointer(size)

    @property
    def team(self) -> SSAValue:
        """As many threads as a team may have, asked on entry of the function."""
        if self._team is None:
            self.declare(THREADS, [], [INDEX])
            self._team = self.buffers.on_entry(func.CallOp(THREADS, [], [INDEX]))
        return self._team

    def declare(self, name: str, inputs: Sequence[Attribute], results: Sequence[Attribute]) -> None:
        """Declares a function of the pool of threads, if it is not yet."""
        declared = {op.sym_name.data for op in self.module.ops if isinstance(op, func.FuncOp)}
        if name not in declared:
            function = func.FuncOp.external(name, inputs, results)
            self.module.body.block.add_op(function)


class Callee:
    """Builds the function of `kernel` and computes what every call passes.

    `first` is the first fiber of a band. `few` rows are done in plain loops.
    """

    def __init__(
        self,
        caller: Caller,
        kernel: Kernel,
        space: Space,
        at: Builder,
        first: Size | None = None,
        *,
        few: bool = False,
    ) -> None:
        self.name = caller.new_name()
        self._caller, self._at, self._axis = caller, at, space.axis
        self._is_product = shares = roles_of(kernel, space, caller.machine) is not None
        same = caller.shared.find(kernel, space) if shares else None
        self._made: func.FuncOp | None = None
        self._function = function = same or self._build(kernel, space, few=few)
        if same is not None:
            caller.described.append(f"{self.name}: as {same.name}")
        elif shares:
            caller.shared.add(function)
        self._arguments = {v: index_of(size, at) for size, v in function.sizes.items()}
        self._arguments |= {v: self._scalar(s) for s, v in function.scalars.items()}
        if function.first is not None and first is not None:
            self._arguments[function.first] = index_of(first, at)

    def _build(self, kernel: Kernel, space: Space, *, few: bool) -> KernelFunction:
        caller = self._caller
        function = KernelFunction(kernel, space, self.name, caller.machine, few)
        made = build(function)
        if few or self._is_product:  # the loops of products are unrolled as far as is good for them
            made.attributes["passthrough"] = SMALL_CODE
        self._made = made
        caller.module.body.block.add_ops([made, *function.helpers])
        caller.described += describe(function)
        return function

    def _scalar(self, scalar: SSAValue) -> SSAValue:
        """A scalar from outside; a size is computed again: its op may stand further down."""
        size = canonical_dim(scalar)
        if size is scalar:
            return scalar
        index = index_of(Size.product([size]), self._at)
        if isinstance(scalar.type, IndexType):
            return index
        return self._at.value(arith.IndexCastOp(index, scalar.type))

    def keep_out_of_line(self) -> None:
        """The kernel is called at several places, and its code stands at one."""
        if self._made is not None:
            self._made.attributes.setdefault("passthrough", OUT_OF_LINE)

    @property
    def has_workspace(self) -> bool:
        """Whether each thread has memory of its own."""
        return self._function.work_start is not None

    @property
    def work_size(self) -> int:
        """Elements of that memory."""
        return self._function.work_size

    def call(
        self,
        ranges: Ranges,
        memory: Memory | None = None,
        piece: SSAValue | None = None,
        work_start: SSAValue | None = None,
        shift: SSAValue | None = None,
    ) -> func.CallOp:
        """A call for these parts of the ranged loops; `piece` numbers the part of the axis.

        `work_start` says where the thread's memory begins, for a kernel that has some, and `shift`
        how many rows further the block of a pipeline lies than in the whole.

        `memory` says where the tensors are that only some kernels know.
        """
        function, known = self._function, memory or {}
        arguments = dict(self._arguments)
        for loop, (first, count) in function.ranges.items():
            arguments[first], arguments[count] = ranges[loop]
        for tensor, argument in function.pointers.items():
            pointer = known[tensor] if tensor in known else self._caller.buffers.pointer(tensor)
            arguments[argument] = pointer
        if function.piece is not None and piece is not None:
            arguments[function.piece] = piece
        if function.shift is not None and shift is not None:
            arguments[function.shift] = shift
        start = function.work_start
        if start is not None and function.work is not None and work_start is not None:
            arguments[start] = work_start
            shared = bool(function.space.ranged) and self._caller.threads
            arguments[function.work] = self._caller.workspace(function.work_size, shared=shared)
        return func.CallOp(function.name, [arguments[a] for a in function.block.args], [])

    def call_piece(
        self, number: SSAValue, first: SSAValue, length: SSAValue, memory: Memory
    ) -> func.CallOp:
        """A call for a part of the axis, which leaves what it reduces at the place `number`."""
        assert self._axis is not None
        return self.call({self._axis: (first, length)}, memory, number)
