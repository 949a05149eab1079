"""Shares a few long rows: threads do pieces of the axis, whose results are joined in order.

The pieces of a float sum are the chunks that the language adds in order, so the bits do not change.
Anything else gives the same in any pieces: there are as many as threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, i8
from xdsl.ir import Block, Operation, SSAValue

from kina.order import CHUNK, LANES
from kina.passes.scheduling.buffers import (
    INDEX,
    any_failed,
    append,
    ceil_div,
    index_in,
    index_of,
    insert,
    insert_op,
    to_pointer,
)
from kina.passes.scheduling.callee import Callee, Caller, Memory
from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.graph import element_of
from kina.passes.scheduling.join import join_function
from kina.passes.scheduling.kernels import Kernel
from kina.passes.scheduling.phases import phases
from kina.passes.scheduling.space import Size, Space, space_of
from kina.passes.scheduling.team import Team, team_size
from kina.passes.scheduling.work import may_be_worth, threads_for, work_of

I1 = IntegerType(1)

Part = tuple[Space, Size | None]
"""The loops of a band, and its first fiber."""


@dataclass
class Split:
    """The way by pieces of one kernel: `parts` are its bands, or the one space of all rows."""

    caller: Caller
    kernel: Kernel
    space: Space
    parts: Sequence[Part]
    before: Operation

    def __post_init__(self) -> None:
        self._work = work_of(self.kernel, self.space, self.caller.machine)
        self._phases = list(phases(self.kernel))
        self._regions = sum(phase.frame.axis is not None for phase in self._phases)

    @property
    def is_possible(self) -> bool:
        """Whether there may be fewer rows than threads, each long."""
        space = self.space
        if space.axis is None or not self.caller.threads:
            return False
        if not may_be_worth(self._work, self.caller.machine, self._regions):
            return False
        if all(stage.element == i8 for stage in self.kernel.stages):
            return False  # Checks of indices: little beside what reads there.
        if space.is_banded and space.sizes[space.last].factors:
            return False  # Three bands for every phase: too much code for a rare case.
        axis = space.sizes[space.axis]
        long = bool(axis.factors) or axis.known >= self._long
        return long and all(size.known < self.caller.machine.many_rows for size in self._rows)

    @property
    def _long(self) -> int:
        """The shortest axis that is cut."""
        return self.caller.machine.deep if self.kernel.frame.is_interior else 2 * CHUNK

    @property
    def _rows(self) -> list[Size]:
        """The sizes of the loops of which threads share one, if they share rows."""
        space = self.space
        sizes = [space.sizes[loop] for loop in space.parallel]
        if space.is_banded:
            sizes[-1] = Size(-(-sizes[-1].known // self.caller.machine.band))
        return [size for size in sizes if size.factors] or sizes

    def emit(self) -> Operation:
        """Inserts the choice; returns the op before which the way by rows goes."""
        team = self._team()
        rows = self._index(Size(1))
        for size in self._rows:
            rows = self._here(arith.MaxUIOp(rows, self._index(size)))
        few = self._here(arith.CmpiOp(rows, team, "ult"))
        by_pieces, by_rows = Block(), scf.YieldOp()
        pieces = Pieces(self.caller, self.kernel, self.parts, team, by_pieces)
        by_pieces.add_op(scf.YieldOp(pieces.emit(self._phases)))
        undone = Block([no := arith.ConstantOp.from_int_and_width(0, I1), scf.YieldOp(no)])
        choice = scf.IfOp(few, [I1], [by_pieces], [undone])
        insert_op(choice, self.before)
        rest = scf.IfOp(choice.results[0], [], [Block([scf.YieldOp()])], [Block([by_rows])])
        insert_op(rest, self.before)
        return by_rows

    def _team(self) -> SSAValue:
        """How many threads are worth it; 0 if one, or if the axis is short."""
        want = threads_for(self._work, self.caller.machine, self.before, self._regions)
        if not self._work.factors:
            return team_size(self.caller, want, self.before)
        axis = self._index(self.space.sizes[self.space.axis or 0])
        worth = self._here(arith.CmpiOp(want, self._index(Size(2)), "uge"))
        long = self._here(arith.CmpiOp(axis, self._index(Size(self._long)), "uge"))
        both = self._here(arith.AndIOp(worth, long))
        none = self._index(Size(0))
        # A small call must not even ask how many threads there are.
        end = scf.YieldOp()
        choice = scf.IfOp(both, [INDEX], [Block([end])], [Block([scf.YieldOp(none)])])
        insert_op(choice, self.before)
        end.operands = [team_size(self.caller, want, end)]
        return choice.results[0]

    def _here(self, op: Operation) -> SSAValue:
        return insert(op, self.before)

    def _index(self, size: Size) -> SSAValue:
        return index_of(size, self.before)


class Pieces:
    """Emits the phases of a kernel, each a parallel region over pieces of the axis.

    What the pieces leave for each other lies in memory that is asked for first. Where there is
    none, nothing is done: the way by rows needs no such memory.
    """

    def __init__(
        self, caller: Caller, kernel: Kernel, parts: Sequence[Part], team: SSAValue, block: Block
    ) -> None:
        self._caller, self._kernel, self._parts = caller, kernel, parts
        self._team, self._block = team, block
        self._inside = Block([end := scf.YieldOp()])
        self._before: Operation = end
        space, _ = parts[0]
        assert space.axis is not None
        self._axis = index_in(space.sizes[space.axis], block)
        self._rows = index_in(Size.product(kernel.frame.row_sizes), block)
        self._scratch: list[SSAValue] = []
        self._memory: dict[SSAValue, SSAValue] = {}

    def emit(self, phases: Iterable[Kernel]) -> SSAValue:
        """Fills the block; a flag: whether the kernel is done."""
        for phase in phases:
            for value in phase.outputs:
                if value in self._kernel.outputs:
                    self._memory[value] = self._caller.buffers.pointer(value)
                else:
                    self._memory[value] = self._allocate(value, self._rows)
            if phase.frame.axis is None:
                rows = Callee(self._caller, phase, space_of(phase), self._before, few=True)
                insert_op(rows.call({}, self._memory), self._before)
            else:
                self._phase(phase)
        failed = any_failed(self._scratch, self._block)
        yes = append(arith.ConstantOp.from_int_and_width(-1, I1), self._block)
        done = append(arith.XOrIOp(failed, yes), self._block)
        self._block.add_op(scf.IfOp(done, [], [self._inside], [Block([scf.YieldOp()])]))
        for buffer in self._scratch:
            self._block.add_op(memref.DeallocOp.get(buffer))
        return done

    def _phase(self, phase: Kernel) -> None:
        reductions = [stage for stage in phase.stages if stage.node.axis is not None]
        count, length = self._pieces(phase, reductions)
        total = append(arith.MuliOp(count, self._rows), self._block)
        # A contest leaves its best value as well. Outputs stay in the order of their ops.
        partial = {v: self._allocate(v, total) for s in reductions for v in s.node.op.results}
        made = [value for stage in phase.stages for value in stage.node.op.results]
        phase.outputs = [v for v in made if v in partial or v in phase.outputs]
        memory = {**self._memory, **partial}
        callees = [
            Callee(self._caller, phase, replace(space, ranged=(space.axis,)), self._before, first)
            for space, first in self._parts
        ]
        team = Team(self._caller)
        first, end = team.share(count)
        body = self._piece(callees, length, memory)
        team.body.add_op(scf.ForOp(first, end, team.constant(1), [], body))
        team.start(self._team, self._before)
        for number, stage in enumerate(reductions):
            name = f"{callees[0].name}$join{number}"
            self._join(name, stage, [partial[v] for v in stage.node.op.results], count)

    def _pieces(self, phase: Kernel, reductions: Sequence[Stage]) -> tuple[SSAValue, SSAValue]:
        """The number of pieces of the axis, and how long they are."""
        block = self._block
        if any(stage.node.is_ordered for stage in reductions):
            length = index_in(Size(phase.frame.chunk), block)
            return ceil_div(self._axis, length, block), length
        vector = index_in(Size(LANES), block)
        vectors = ceil_div(self._axis, vector, block)
        each = ceil_div(vectors, self._team, block)
        return self._team, append(arith.MuliOp(each, vector), block)

    def _piece(self, callees: Sequence[Callee], length: SSAValue, memory: Memory) -> Block:
        """One piece, given its number; the last ones may be short or empty."""
        body = Block(arg_types=[INDEX])
        number = body.args[0]

        def add(op: Operation) -> SSAValue:
            body.add_op(op)
            return op.results[0]

        first = add(arith.MinUIOp(add(arith.MuliOp(number, length)), self._axis))
        size = add(arith.MinUIOp(add(arith.SubiOp(self._axis, first)), length))
        for callee in callees:
            body.add_op(callee.call_piece(number, first, size, memory))
        body.add_op(scf.YieldOp())
        return body

    def _join(self, name: str, stage: Stage, partial: Sequence[SSAValue], count: SSAValue) -> None:
        """Combines the results of the pieces of each row, in order."""
        self._caller.module.body.block.add_op(join_function(name, stage))
        arguments = [count, self._rows, *partial, self._memory[stage.value]]
        insert_op(func.CallOp(name, arguments, []), self._before)

    def _allocate(self, value: SSAValue, count: SSAValue) -> SSAValue:
        """Memory for so many elements of the type of `value`, until the last phase is done."""
        buffer = memref.AllocOp.get(element_of(value), 64, [DYNAMIC_INDEX], [count])
        self._scratch.append(append(buffer, self._block))
        return append(to_pointer(self._scratch[-1]), self._block)
