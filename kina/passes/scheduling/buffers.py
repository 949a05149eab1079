"""Which memory holds each tensor of a function, as a bare pointer (`memref<T>`)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, bufferization, cf, func, memref, tensor
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    FixedBitwidthType,
    IndexType,
    IntegerAttr,
    MemRefType,
    UnitAttr,
    f32,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from kina.dialects.pointers import POINTER
from kina.machine import Machine
from kina.passes.builder import INDEX, Builder
from kina.passes.derived_sizes import again, derived
from kina.passes.scheduling.graph import base_of, element_of, owner, shape_of, static_shape
from kina.passes.scheduling.held import GIVE, TAKE
from kina.passes.scheduling.pointers import pointed
from kina.passes.scheduling.space import Size
from kina.status import OUT_OF_MEMORY

ALIGNMENT = 64
"""Bytes of a cache line, where temporaries begin."""


def index_of(size: Size, at: Builder) -> SSAValue:
    """`size` as an index value."""
    value: SSAValue | None = None
    if size.known != 1 or not size.factors:
        value = at.index(size.known)
    for factor in size.factors:
        if derived(factor) is not None:
            factor = again(factor, at)
        elif not isinstance(factor.type, IndexType):
            factor = at.value(arith.IndexCastOp(factor, INDEX))
        value = factor if value is None else at.value(arith.MuliOp(value, factor))
    assert value is not None
    return value


def ceil_div(value: SSAValue, by: SSAValue, at: Builder) -> SSAValue:
    """`value / by` rounded up. Upstream lowers `arith.ceildivui` only along with what must stay."""
    less = at.value(arith.SubiOp(by, at.index(1)))
    return at.value(arith.DivUIOp(at.value(arith.AddiOp(value, less)), by))


def to_pointer(buffer: SSAValue) -> memref.ReinterpretCastOp:
    """The op that forgets the shape of a memref."""
    kind = MemRefType(element_of(buffer), [])
    return memref.ReinterpretCastOp(buffer, [], [], [], [0], [], [], kind)


class Workspace:
    """Memory of the threads' own, in the making: how much is known when all kernels are."""

    def __init__(self, size: arith.ConstantOp, memory: SSAValue) -> None:
        self._size, self._memory = size, memory
        self._most = 0

    def pointer(self, size: int) -> SSAValue:
        """The memory of all threads, each with room for so many elements at least."""
        self._most = max(self._most, size)
        self._size.properties["value"] = IntegerAttr(self._most, INDEX)
        return self._memory


class Buffers:
    """Pointers of the tensors of one function; temporaries are allocated on its entry."""

    def __init__(self, function: func.FuncOp, machine: Machine, *, held: bool) -> None:
        self._machine = machine
        self._held = held
        self._function = function
        self._entry = function.body.block
        self._allocations = Builder(Block())
        self._frame = Builder(Block())
        self.in_frame = self._frame.value
        """Puts what takes the stack of the function there: before all that may branch."""
        self.on_entry = self._allocations.value
        """Puts what is done on entry of the function there; its result."""
        self.entry = self._allocations.block
        """The block of that."""
        self._pointers: dict[SSAValue, SSAValue] = {}
        self.computed: set[SSAValue] = set()
        """The tensors that kernels store."""
        self._windows: dict[SSAValue, SSAValue] = {}
        self._heap: list[SSAValue] = []
        self._taken: dict[SSAValue, SSAValue] = {}
        """The address of each of them that was taken."""
        self._free = machine.stack

    def __contains__(self, value: SSAValue) -> bool:
        return base_of(value) in self._pointers

    @property
    def placed(self) -> set[SSAValue]:
        """The tensors whose memory is known."""
        return set(self._pointers)

    def store_in(self, value: SSAValue, destination: SSAValue) -> None:
        """Says that `value` is computed straight into the memref `destination`."""
        self._pointers[base_of(value)] = self.to_pointer(destination)

    def write_in(self, value: SSAValue, home: SSAValue) -> None:
        """Says that `value` is computed straight into a window of `home`."""
        self._windows[value] = home
        self.computed.add(base_of(home))

    def pointer(self, value: SSAValue) -> SSAValue:
        """The pointer to the memory of `value`, allocated if there is none yet."""
        base = base_of(self._windows.get(value, value))
        if base not in self._pointers:
            self._pointers[base] = self._find(base)
        return self._pointers[base]

    def _find(self, base: SSAValue) -> SSAValue:
        op = owner(base)
        if isinstance(op, bufferization.ToTensorOp):
            return self.to_pointer(op.memref)
        if base in self.computed:
            return self._allocate(base)
        # A literal, or what an op outside of the kernels made.
        assert op is not None
        assert op.next_op is not None
        kind = MemRefType(element_of(base), static_shape(base))
        view = bufferization.ToBufferOp.create(
            operands=[base], result_types=[kind], properties={"read_only": UnitAttr()}
        )
        return self.to_pointer(Builder(op.next_op).value(view))

    def temporary(self, like: SSAValue) -> SSAValue:
        """A pointer to memory of its own for a tensor like this one."""
        return self._allocate(like)

    def tensor(self, value: SSAValue, at: Builder) -> SSAValue:
        """`value` read back from its memory."""
        view = self.shaped(self.pointer(value), value, at)
        return at.value(bufferization.ToTensorOp(view, True))

    def shaped(self, pointer: SSAValue, value: SSAValue, at: Builder) -> SSAValue:
        """`pointer` as a memref of the shape of `value`."""
        shape = shape_of(value)
        strides = [Size.product(shape[i + 1 :]) for i in range(len(shape))]
        static = [dim if isinstance(dim, int) else DYNAMIC_INDEX for dim in shape]
        sizes = [index_of(Size.product([d]), at) for d in shape if not isinstance(d, int)]
        steps = [index_of(stride, at) for stride in strides if stride.factors]
        kind = MemRefType(element_of(value), static)
        known = [stride.static for stride in strides]
        cast = memref.ReinterpretCastOp(pointer, [], sizes, steps, [0], static, known, kind)
        return at.value(cast)

    def own(self, empty: tensor.EmptyOp) -> None:
        """Gives memory to each use of an op that stays outside of the kernels.

        The windows of one tensor share it: each fills its part.
        """
        shared: SSAValue | None = None
        for use in list(empty.tensor.uses):
            if isinstance(use.operation, tensor.ExtractSliceOp | tensor.InsertSliceOp):
                shared = shared or self._writable(empty)
                use.operation.operands[use.index] = shared
            else:
                use.operation.operands[use.index] = self._writable(empty)

    def _writable(self, empty: tensor.EmptyOp) -> SSAValue:
        at = Builder(empty)
        view = self.shaped(self._allocate(empty.tensor), empty.tensor, at)
        return at.value(bufferization.ToTensorOp(view, True, True))

    def workspace(self, threads: SSAValue) -> Workspace:
        """Memory for each of some threads, as much as the kernel needs that needs most."""
        most = arith.ConstantOp.from_int_and_width(0, INDEX)
        each = self.on_entry(most)
        count = self.on_entry(arith.MuliOp(each, threads))
        buffer = self._on_heap(f32, Size(1, (count,)))
        return Workspace(most, self.on_entry(to_pointer(buffer)))

    def block(self, values: Sequence[SSAValue], elements: SSAValue) -> None:
        """One memory of so many elements for some tensors, of each of which a block is in it."""
        kind = element_of(values[0])
        buffer = self._on_heap(kind, Size(1, (elements,)))
        pointer = self.on_entry(to_pointer(buffer))
        self._pointers |= {value: pointer for value in values}

    def finish(self) -> None:
        """Allocates the temporaries on entry, and frees them where the function ends.

        Where one cannot be had, the others are freed and the function returns `OUT_OF_MEMORY`:
        nothing has been written yet.
        """
        if self._heap:
            last = self._entry.last_op
            assert last is not None
            for buffer in self._heap:
                self._entry.insert_op_before(self._freed(buffer), last)
            self._check()
        if (first := self._entry.first_op) is not None:
            for part in (self._frame, self._allocations):
                for op in list(part.block.ops):
                    op.detach()
                    self._entry.insert_op_before(op, first)
        if self._heap:
            self._branch()

    def _check(self) -> None:
        """A flag: whether an allocation failed."""
        self._failed = any_failed(self._heap, self._allocations)

    def _branch(self) -> None:
        """What comes after the check goes into a block of its own."""
        check = self._failed.owner
        assert isinstance(check, Operation)
        rest, failed = Block(), Block()
        self._function.body.add_block(rest)
        self._function.body.add_block(failed)
        op = check.next_op
        while op is not None:
            following = op.next_op
            op.detach()
            rest.add_op(op)
            op = following
        self._entry.add_op(cf.ConditionalBranchOp(self._failed, failed, [], rest, []))
        for buffer in self._heap:
            failed.add_op(self._freed(buffer))
        status = arith.ConstantOp.from_int_and_width(OUT_OF_MEMORY, 32)
        failed.add_ops([status, func.ReturnOp(status)])

    def _first(self) -> Operation:
        first = self._entry.first_op
        assert first is not None
        return first

    def to_pointer(self, buffer: SSAValue) -> SSAValue:
        """`buffer` without its shape, right after it (or after what it was cast from)."""
        while isinstance(op := owner(buffer), memref.ReinterpretCastOp | memref.CastOp):
            buffer = op.source
        if not static_shape(buffer):
            return buffer
        after = op.next_op if op is not None else self._first()
        # What takes the stack may be the last so far in its block.
        place = op.parent_block() if op is not None and after is None else after
        assert place is not None
        return Builder(place).value(to_pointer(buffer))

    def _takes_stack(self, element: Attribute, size: Size) -> bool:
        """Whether a temporary is small and there is room for it; then there is less."""
        assert isinstance(element, FixedBitwidthType)
        taken = -(-size.known * element.size // ALIGNMENT) * ALIGNMENT
        if size.factors or size.known > self._machine.small or taken > self._free:
            return False
        self._free -= taken
        return True

    def _allocate(self, value: SSAValue) -> SSAValue:
        """Memory for a temporary, on the stack if it is small."""
        element, size = element_of(value), Size.product(shape_of(value))
        at = self._allocations
        if self._takes_stack(element, size):
            buffer = self.in_frame(memref.AllocaOp.get(element, ALIGNMENT, [size.known]))
        else:
            buffer = self._on_heap(element, size)
        return at.value(to_pointer(buffer))

    def _on_heap(self, element: Attribute, size: Size) -> SSAValue:
        """Memory of so many elements, which is asked for on entry."""
        at = self._allocations
        if self._held:
            buffer = self._take(element, size)
        else:
            count = [index_of(size, at)] if size.factors else []
            buffer = at.value(memref.AllocOp.get(element, ALIGNMENT, [size.static], count))
        self._heap.append(buffer)
        return buffer

    def _take(self, element: Attribute, size: Size) -> SSAValue:
        assert isinstance(element, FixedBitwidthType)
        at = self._allocations
        bytes_ = index_of(Size(size.known * element.size, size.factors), at)
        address = at.value(func.CallOp(TAKE, [bytes_], [POINTER]))
        buffer = pointed(address, element, at)
        self._taken[buffer] = address
        return buffer

    def _freed(self, buffer: SSAValue) -> Operation:
        if buffer in self._taken:
            return func.CallOp(GIVE, [self._taken[buffer]], [])
        return memref.DeallocOp.get(buffer)


def any_failed(buffers: Sequence[SSAValue], at: Builder) -> SSAValue:
    """Whether one of some allocations gave no memory."""
    zero = at.index(0)
    flag: SSAValue | None = None
    for buffer in buffers:
        address = at.value(memref.ExtractAlignedPointerAsIndexOp.get(buffer))
        failed = at.compare("eq", address, zero)
        flag = failed if flag is None else at.value(arith.OrIOp(flag, failed))
    assert flag is not None
    return flag
