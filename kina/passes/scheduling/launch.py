"""Calls kernels: in bands of fibers, and shared by threads when the work is worth it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import DenseArrayBase, IndexType, IntegerType, ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from kina.passes.scheduling.buffers import INDEX, Buffers, index_of, insert
from kina.passes.scheduling.graph import canonical_dim
from kina.passes.scheduling.kernels import Kernel
from kina.passes.scheduling.outline import KernelBuilder
from kina.passes.scheduling.space import Size, Space, space_of
from kina.passes.scheduling.transform import Scheduled

I1, I32 = IntegerType(1), IntegerType(32)
WIDE = 64
"""Fibers of one band along an interior axis; elements that stay together on one thread."""
NARROW = (8, 1)
"""Bands for what is left when the number of fibers is known only at run time."""
GRAIN = 1 << 20
"""Scalar operations that are worth a thread: about 15 microseconds of vector code."""

Ranges = dict[int, tuple[SSAValue, SSAValue]]


@dataclass
class Caller:
    """What the calls of all kernels of one function share."""

    module: ModuleOp
    name: str
    buffers: Buffers
    threads: bool
    scheduled: list[Scheduled]

    def declare(self, name: str) -> None:
        """Declares a function of the OpenMP runtime."""
        declared = {op.sym_name.data for op in self.module.ops if isinstance(op, func.FuncOp)}
        if name not in declared:
            self.module.body.block.add_op(func.FuncOp.external(name, [], [I32]))


def launch(caller: Caller, kernel: Kernel, before: Operation) -> None:
    """Calls `kernel` before an op, in bands where the reduced axis is not the last loop."""
    space = space_of(kernel)
    if space.axis is None or space.axis == space.last:
        Launch(caller, kernel, space, None, before).emit()
        return
    for block, count, first in bands(space.sizes[space.last], before):
        part = replace(space, sizes=(*space.sizes[:-1], count), block=block)
        Launch(caller, kernel, part, first, before).emit()


def bands(width: Size, before: Operation) -> Iterator[tuple[int, Size, Size]]:
    """Fibers of a block, number of blocks and first fiber of each band."""
    if not width.factors:
        blocks, rest = divmod(width.known, WIDE)
        if blocks:
            yield WIDE, Size(blocks), Size(0)
        if rest:
            yield rest, Size(1), Size(blocks * WIDE)
        return
    left, first = index_of(width, before), index_of(Size(0), before)
    for block in (WIDE, *NARROW):
        size = index_of(Size(block), before)
        count = insert(arith.DivUIOp(left, size), before)
        yield block, Size(1, (count,)), Size(1, (first,))
        done = insert(arith.MuliOp(count, size), before)
        left = insert(arith.SubiOp(left, done), before)
        first = insert(arith.AddiOp(first, done), before)


class Launch:
    """Emits the call of one kernel: direct, or by every thread of an OpenMP team."""

    def __init__(
        self, caller: Caller, kernel: Kernel, space: Space, first: Size | None, before: Operation
    ) -> None:
        self._caller, self._kernel, self._space, self._before = caller, kernel, space, before
        self._work = self._count_work()
        threaded = self._choose_loops()
        name = f"{caller.name}${len(caller.scheduled)}"  # no program has a `$` in a name
        self._builder = builder = KernelBuilder(kernel, space, name)
        caller.module.body.block.add_op(builder.build())
        caller.scheduled.append(Scheduled(name, kernel, space, tuple(builder.roots)))
        self._arguments = {v: self._index(size) for size, v in builder.sizes.items()}
        self._arguments |= {v: caller.buffers.pointer(t) for t, v in builder.pointers.items()}
        self._arguments |= {v: self._scalar(s) for s, v in builder.scalars.items()}
        if builder.first is not None and first is not None:
            self._arguments[builder.first] = self._index(first)
        self._whole = {loop: self._index(space.sizes[loop]) for loop in space.ranged}
        self._threaded = threaded

    def emit(self) -> None:
        """Inserts the call."""
        zero = self._index(Size(0))
        everything = {loop: (zero, size) for loop, size in self._whole.items()}
        if not self._threaded:
            insert_op(self._call(everything), self._before)
            return
        want = self._here(arith.DivUIOp(self._index(self._work), self._index(Size(GRAIN))))
        if not self._work.factors:
            insert_op(self._parallel(want, zero), self._before)
            return
        # One thread calls the kernel directly: a small call must not pay for OpenMP.
        worth = self._here(arith.CmpiOp(want, self._index(Size(2)), "uge"))
        end = scf.YieldOp()
        alone = Block([self._call(everything), scf.YieldOp()])
        insert_op(scf.IfOp(worth, [], [Block([end])], [alone]), self._before)
        self._before = end
        insert_op(self._parallel(want, zero), end)

    def _count_work(self) -> Size:
        frame = self._kernel.frame
        cost = sum(stage.cost for stage in self._kernel.stages if frame.is_full(stage))
        return Size.product_of([Size(cost * (self._space.block or 1)), *self._space.sizes])

    def _choose_loops(self) -> bool:
        """Picks the loops that threads may share; says whether they ever do."""
        space = self._space
        loops = [loop for loop in space.parallel if space.sizes[loop] != Size(1)]
        worth = bool(self._work.factors) or self._work.known >= 2 * GRAIN
        if not (self._caller.threads and loops and worth):
            return False
        dynamic = [loop for loop in loops if space.sizes[loop].factors]
        longest = max(loops, key=lambda loop: space.sizes[loop].known // self._grain(loop))
        space.ranged = tuple(dynamic or [longest])
        return True

    def _grain(self, loop: int) -> int:
        """How many iterations stay together on one thread."""
        return WIDE if self._space.axis is None and loop == self._space.last else 1

    def _here(self, op: Operation) -> SSAValue:
        return insert(op, self._before)

    def _index(self, size: Size) -> SSAValue:
        return index_of(size, self._before)

    def _scalar(self, scalar: SSAValue) -> SSAValue:
        """A scalar from outside; a size is computed again: its op may stand further down."""
        size = canonical_dim(scalar)
        if size is scalar:
            return scalar
        index = self._index(Size.product([size]))
        if isinstance(scalar.type, IndexType):
            return index
        return self._here(arith.IndexCastOp(index, scalar.type))

    def _call(self, ranges: Ranges) -> func.CallOp:
        for loop, (first, count) in self._builder.ranges.items():
            self._arguments[first], self._arguments[count] = ranges[loop]
        arguments = [self._arguments[argument] for argument in self._builder.block.args]
        return func.CallOp(self._builder.name, arguments, [])

    def _runtime(self, name: str) -> func.CallOp:
        self._caller.declare(name)
        return func.CallOp(name, [], [I32])

    def _parallel(self, want: SSAValue, zero: SSAValue) -> Operation:
        """An `omp.parallel` of at most `want` threads, each with its share of one loop."""
        # The largest dialect of all: most programs are too small for threads and skip it.
        from xdsl.dialects import omp

        limit = self._here(self._runtime("omp_get_max_threads"))
        most = self._here(arith.IndexCastOp(limit, INDEX))
        team = self._here(arith.IndexCastOp(self._here(arith.MinUIOp(want, most)), I32))
        units = {loop: self._units(loop) for loop in self._space.ranged}
        chosen = self._longest(units)
        body = Block()
        share = Share(body, self._runtime)
        ranges: Ranges = {}
        for loop, count in units.items():
            first, size = share.of(count, self._grain(loop), self._whole[loop])
            if chosen:
                first = share.add(arith.SelectOp(chosen[loop], first, zero))
                size = share.add(arith.SelectOp(chosen[loop], size, self._whole[loop]))
            ranges[loop] = first, size
        body.add_ops([self._call(ranges), omp.TerminatorOp()])
        segments = DenseArrayBase.from_list(I32, [0, 0, 0, 1, 0, 0])
        return omp.ParallelOp.create(
            operands=[team],
            regions=[Region(body)],
            properties={"operandSegmentSizes": segments},
        )

    def _units(self, loop: int) -> SSAValue:
        grain = self._grain(loop)
        whole = self._whole[loop]
        return (
            whole if grain == 1 else self._here(arith.CeilDivUIOp(whole, self._index(Size(grain))))
        )

    def _longest(self, units: dict[int, SSAValue]) -> dict[int, SSAValue]:
        """For each loop whether it is the one to share; nothing if there is only one."""
        if len(units) == 1:
            return {}
        best = next(iter(units.values()))
        for count in units.values():
            best = self._here(arith.MaxUIOp(best, count))
        false = self._here(arith.ConstantOp.from_int_and_width(0, I1))
        free = self._here(arith.ConstantOp.from_int_and_width(-1, I1))
        chosen: dict[int, SSAValue] = {}
        for loop, count in units.items():
            is_best = self._here(arith.CmpiOp(count, best, "eq"))
            chosen[loop] = self._here(arith.SelectOp(is_best, free, false))
            free = self._here(arith.SelectOp(is_best, false, free))
        return chosen


class Share:
    """The part of a loop that falls to the running thread."""

    def __init__(self, body: Block, runtime: Callable[[str], func.CallOp]) -> None:
        self._body = body
        me, team = (runtime(f"omp_get_{what}") for what in ("thread_num", "num_threads"))
        self._me = self._cast(self.add(me))
        self._team = self._cast(self.add(team))
        self._next = self.add(arith.AddiOp(self._me, self._constant(1)))

    def add(self, op: Operation) -> SSAValue:
        """Appends `op` to the parallel region."""
        self._body.add_op(op)
        return op.results[0]

    def of(self, units: SSAValue, grain: int, whole: SSAValue) -> tuple[SSAValue, SSAValue]:
        """First iteration and number of iterations."""
        first = self._bound(units, grain, whole, self._me)
        end = self._bound(units, grain, whole, self._next)
        return first, self.add(arith.SubiOp(end, first))

    def _bound(self, units: SSAValue, grain: int, whole: SSAValue, thread: SSAValue) -> SSAValue:
        bound = self.add(arith.DivUIOp(self.add(arith.MuliOp(units, thread)), self._team))
        if grain == 1:
            return bound
        scaled = self.add(arith.MuliOp(bound, self._constant(grain)))
        return self.add(arith.MinUIOp(scaled, whole))

    def _constant(self, value: int) -> SSAValue:
        return self.add(arith.ConstantOp.from_int_and_width(value, INDEX))

    def _cast(self, value: SSAValue) -> SSAValue:
        return self.add(arith.IndexCastOp(value, INDEX))


def insert_op(op: Operation, before: Operation) -> None:
    """Puts an op without results before another."""
    block = before.parent_block()
    assert block is not None
    block.insert_op_before(op, before)
