"""Calls the kernels of a pipeline, block after block of its rows.

    weights, shared by all rows:                 stacked matrices (the heads of attention):
        for each block of rows:                      share among threads: a block of one matrix,
            for each kernel: threads share it            or all of them where sums go on
                                                             for each kernel: a call

A call is for a range of all rows, counted in row-major order. Where a kernel walks their dimensions
by several loops, it is called for each part of the range that is one of its innermost loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import FixedBitwidthType
from xdsl.ir import Block as Body
from xdsl.ir import SSAValue

from kina.frozen import frozen
from kina.order import BLOCK
from kina.passes.builder import INDEX, Builder
from kina.passes.kernels.ops import Count, Ops
from kina.passes.scheduling.buffers import ceil_div, index_of
from kina.passes.scheduling.callee import Callee, Caller, Ranges
from kina.passes.scheduling.graph import element_of
from kina.passes.scheduling.kernels import Kernel
from kina.passes.scheduling.launch import Block, launch, parts_of
from kina.passes.scheduling.members import nest_of, row_loops, row_sizes
from kina.passes.scheduling.pipelines import Pipeline
from kina.passes.scheduling.report import shown
from kina.passes.scheduling.space import Size, space_of
from kina.passes.scheduling.team import Team
from kina.passes.scheduling.work import threads_for, work_of

Call: TypeAlias = Callable[[Ops, Ranges], None]
"""What is done for a range of each of some loops."""


@frozen
class Part:
    """Some of the rows: which stacked matrix, and which of its rows."""

    matrix: SSAValue
    start: SSAValue
    count: SSAValue
    first: SSAValue
    """The first one, counted from the first row of all matrices."""
    matrices: SSAValue
    """1, or 0 where there are none: sums of nothing are stored all the same."""


def launch_pipeline(caller: Caller, pipeline: Pipeline, at: Builder) -> None:
    """Inserts everything at `at`; the memory of the blocks is allocated with the temporaries."""
    Blocks(caller, pipeline, at).emit()


class Blocks:
    """Writes the loop over the blocks of one pipeline."""

    def __init__(self, caller: Caller, pipeline: Pipeline, at: Builder) -> None:
        self._caller, self._pipeline, self._at = caller, pipeline, at
        self._machine = caller.machine
        *outer, self._inner = nest_of(pipeline.kernels)
        self._outer = Size.product_of(outer)
        sums = [row_loops(kernel) for kernel in pipeline.kernels if kernel.carries]
        self._apart = bool(outer) and all(len(loops) > 1 for loops in sums)
        """Whether matrices have nothing to do with each other: threads share them."""
        self._entry = Ops(caller.buffers.entry)
        self._rows = self._rows_of_block()
        self._allocate()
        caller.described += self._described()
        self._counts()

    def _counts(self) -> None:
        at = self._at
        self._step = at.index(self._rows) if isinstance(self._rows, int) else self._rows
        self._length, self._matrices = index_of(self._inner, at), index_of(self._outer, at)
        self._blocks = ceil_div(self._length, self._step, at)
        if self._pipeline.carries:  # Sums of nothing are stored too.
            self._blocks = at.value(arith.MaxUIOp(self._blocks, at.index(1)))

    def emit(self) -> None:
        """Appends the loop."""
        if self._apart:
            self._among_threads()
        else:
            self._one_by_one()

    # Memory.

    def _rows_of_block(self) -> Count:
        """How many rows a block has: what the memory for it holds, in whole blocks of sums."""
        machine, entry = self._machine, self._entry
        room = machine.block_bytes if self._apart else machine.shared_block_bytes
        taken: Count = 0
        for row in self._slots():
            taken = entry.plus(taken, self._count(row))
        least, most = (
            -(-rows // BLOCK) * BLOCK if self._has_blocks_of_sums else rows
            for rows in (machine.least_block_rows, machine.block_rows)
        )
        if isinstance(taken, int):
            rows: Count = max(least, min(most, room // taken // BLOCK * BLOCK))
        else:
            whole = arith.DivUIOp(entry.index(room), entry.index(entry.most(taken, 1)))
            fitting = entry.times(entry.divide(entry.value(whole), BLOCK), BLOCK)
            rows = entry.most(entry.least(fitting, most), least)
        return entry.least(rows, entry.most(self._count(self._inner), 1))

    @property
    def _has_blocks_of_sums(self) -> bool:
        """Whether sums go on that are added in blocks of an axis."""
        return any(
            kernel.carries and not all(stage.node.is_chain for stage in kernel.stages)
            for kernel in self._pipeline.kernels
        )

    def _slots(self) -> list[Size]:
        """The bytes of a row of each memory."""
        rows: dict[int, Size] = {}
        for base, slot in self._pipeline.slots.items():
            element = element_of(base)
            assert isinstance(element, FixedBitwidthType)
            size = Size.product(self._pipeline.private[base])
            rows[slot] = Size(size.known * element.size, size.factors)
        return [rows[slot] for slot in sorted(rows)]

    def _allocate(self) -> None:
        entry, slots = self._entry, self._pipeline.slots
        rows = self._rows
        if self._apart and self._caller.threads:
            rows = entry.times(rows, self._caller.team)
        for slot in sorted(set(slots.values())):
            bases = [base for base in slots if slots[base] == slot]
            row = self._count(Size.product(self._pipeline.private[bases[0]]))
            self._caller.buffers.block(bases, entry.index(entry.times(rows, row)))

    def _count(self, size: Size) -> Count:
        return index_of(size, self._entry) if size.factors else size.known

    def _described(self) -> list[str]:
        machine = self._machine
        rows = self._rows if isinstance(self._rows, int) else f"up to {machine.block_rows}"
        held = " + ".join(shown(row) for row in self._slots())
        name = f"{self._caller.name}${self._caller.kernels}"
        shared = "blocks, or matrices" if self._apart else "what each of them does of a block"
        return [
            f"pipeline of {len(self._pipeline.kernels)} kernels, from {name} on",
            f"  blocks of {rows} rows; threads share {shared}",
            f"  bytes of a row that are held for a block: {held}",
        ]

    # Block after block, each kernel by all threads.

    def _one_by_one(self) -> None:
        at = self._at
        all_rows = at.value(arith.MuliOp(self._matrices, self._length))

        def block(ops: Ops, part: Part) -> None:
            shift = ops.index(ops.minus(0, part.first))
            is_all = ops.compare("eq", part.count, all_rows)
            for kernel in self._pipeline.kernels:

                def call(inside: Ops, ranges: Ranges, kernel: Kernel = kernel) -> None:
                    launch(self._caller, kernel, inside, Block(ranges, shift, is_all))

                self._each_range(kernel, ops, part, call)

        zero, matrices = at.index(0), self._matrices
        if self._pipeline.carries:
            matrices = at.value(arith.MaxUIOp(matrices, at.index(1)))
        _for(at, zero, matrices, lambda ops, matrix: self._each_block(ops, matrix, block))

    def _each_block(self, at: Builder, matrix: SSAValue, body: Callable[[Ops, Part], None]) -> None:
        """The blocks of one matrix in order."""
        _for(
            at,
            at.index(0),
            self._blocks,
            lambda ops, number: body(ops, self._part(ops, matrix, number)),
        )

    def _part(self, ops: Ops, matrix: SSAValue, number: SSAValue) -> Part:
        start = ops.index(ops.times(number, self._step))
        count = ops.index(ops.least(ops.minus(self._length, start), self._step))
        first = ops.index(ops.plus(ops.times(matrix, self._length), start))
        if not self._matrices_may_be_none:
            return Part(matrix, start, count, first, ops.index(1))
        some = ops.value(arith.MinUIOp(self._matrices, ops.index(1)))
        return Part(matrix, start, ops.index(ops.times(count, some)), first, some)

    @property
    def _matrices_may_be_none(self) -> bool:
        return bool(self._outer.factors) and self._pipeline.carries and not self._apart

    # Blocks, or matrices with all their blocks, shared by the threads.

    def _among_threads(self) -> None:
        at = self._at
        self._callees = [(kernel, self._callees_of(kernel)) for kernel in self._pipeline.kernels]
        zero, units = at.index(0), self._matrices
        if not self._pipeline.carries:
            units = at.value(arith.MuliOp(units, self._blocks))
        if not self._caller.threads:
            self._units(at, zero, units, zero)
            return
        want = at.value(arith.MinUIOp(self._wanted(), units))
        want = at.value(arith.MinUIOp(want, self._caller.team))
        worth = at.compare("uge", want, at.index(2))
        alone, shared = Builder(Body()), Builder(Body())
        self._units(alone, zero, units, zero)
        team = Team(self._caller)
        first, end = team.share(units)
        self._units(team, first, end, team.me)
        team.start(want, shared)
        for branch in (alone, shared):
            branch.append(scf.YieldOp())
        at.append(scf.IfOp(worth, [], [shared.block], [alone.block]))

    def _wanted(self) -> SSAValue:
        """How many threads all kernels together are worth."""
        most = self._at.index(0)
        for kernel in self._pipeline.kernels:
            work = work_of(kernel, space_of(kernel), self._machine)
            mine = threads_for(work, self._machine, self._at)
            most = self._at.value(arith.AddiOp(most, mine))
        return most

    def _callees_of(self, kernel: Kernel) -> list[Callee]:
        callees: list[Callee] = []
        for space, first in parts_of(self._caller, kernel, self._at):
            space.ranged = row_loops(kernel)
            callees.append(Callee(self._caller, kernel, space, self._at, first))
        return callees

    def _units(self, at: Builder, first: SSAValue, end: SSAValue, me: SSAValue) -> None:
        """What one thread does."""
        callees = [callee for _, callees in self._callees for callee in callees]
        most = max(callee.work_size for callee in callees)

        def block(ops: Ops, part: Part) -> None:
            shift = ops.index(ops.minus(ops.times(me, self._step), part.first))
            work = ops.index(ops.times(me, most))
            for kernel, callees in self._callees:

                def call(inside: Ops, ranges: Ranges, callees: list[Callee] = callees) -> None:
                    for callee in callees:
                        inside.append(callee.call(ranges, work_start=work, shift=shift))

                self._each_range(kernel, ops, part, call)

        def unit(ops: Ops, number: SSAValue) -> None:
            if self._pipeline.carries:
                self._each_block(ops, number, block)
                return
            matrix = ops.value(arith.DivUIOp(number, self._blocks))
            block(ops, self._part(ops, matrix, ops.value(arith.RemUIOp(number, self._blocks))))

        _for(at, first, end, unit)

    # What a kernel is called for.

    def _each_range(self, kernel: Kernel, ops: Ops, part: Part, call: Call) -> None:
        """The ranges of the loops of a kernel that are some of the rows."""
        loops, sizes = row_loops(kernel), row_sizes(kernel)
        if len(loops) == 1:
            call(ops, {loops[0]: (part.first, part.count)})
        elif sizes[-1] == self._inner:
            outer = _places(ops, loops, sizes, part.matrix, part.matrices)
            call(ops, {**outer, loops[-1]: (part.start, part.count)})
        else:
            self._each_of_innermost(kernel, ops, part, call)

    def _each_of_innermost(self, kernel: Kernel, ops: Ops, part: Part, call: Call) -> None:
        """One range of the innermost loop after the other."""
        loops, sizes = row_loops(kernel), row_sizes(kernel)
        inner = index_of(sizes[-1], ops)
        end = ops.index(ops.plus(part.first, part.count))

        def body(inside: Ops, number: SSAValue) -> None:
            begin = inside.index(inside.times(number, inner))
            low = inside.value(arith.MaxUIOp(part.first, begin))
            high = inside.least(end, inside.plus(begin, inner))
            start, count = (
                inside.index(inside.minus(*pair)) for pair in ((low, begin), (high, low))
            )
            outer = _places(inside, loops, sizes, number, inside.index(1))
            call(inside, {**outer, loops[-1]: (start, count)})

        # An innermost loop that is empty is not asked for.
        some = ops.index(ops.most(inner, 1))
        first = ops.value(arith.DivUIOp(part.first, some))
        _for(ops, first, ceil_div(end, some, ops), body)


def _places(
    ops: Ops, loops: tuple[int, ...], sizes: list[Size], number: SSAValue, count: SSAValue
) -> Ranges:
    """One iteration of each loop but the innermost, by its number among all of these.

    `count` is 1, or 0 if there is none.
    """
    ranges: Ranges = {}
    for place in reversed(range(1, len(loops) - 1)):
        size = index_of(sizes[place], ops)
        size = ops.index(ops.most(size, 1))
        ranges[loops[place]] = ops.value(arith.RemUIOp(number, size)), count
        number = ops.value(arith.DivUIOp(number, size))
    ranges[loops[0]] = number, count
    return ranges


def _for(
    at: Builder, first: SSAValue, end: SSAValue, body: Callable[[Ops, SSAValue], None]
) -> None:
    """A loop."""
    ops = Ops(Body(arg_types=[INDEX]))
    body(ops, ops.block.args[0])
    ops.append(scf.YieldOp())
    at.append(scf.ForOp(first, end, at.index(1), [], ops.block))
