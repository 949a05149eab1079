"""Shares a few long rows: threads do pieces of the axis, whose results are joined in order.

The pieces of a float sum are the chunks that the language adds in order, so the bits do not change.
Anything else gives the same in any pieces: there are as many as threads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, i8
from xdsl.ir import Block, SSAValue

from kina.order import CHUNK, LANES
from kina.passes.builder import INDEX, Builder
from kina.passes.scheduling.buffers import any_failed, ceil_div, index_of, to_pointer
from kina.passes.scheduling.callee import Callee, Caller, Memory
from kina.passes.scheduling.contractions import roles_of
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
    at: Builder
    when: SSAValue | None = None
    """A flag: whether it may be done at all; always without one."""

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
        nodes = [stage.node for stage in self.kernel.stages]
        if any(node.is_chain or node.is_scan or node.is_selection for node in nodes):
            return False  # Nothing cuts a chain, and lists are not joined.
        if roles_of(self.kernel, space, self.caller.machine) is not None:
            return False  # Tiles of integers take all of k.
        if self.kernel.carries:
            return False  # What a block of rows adds comes after the one before.
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

    def emit(self) -> Builder:
        """Inserts the choice; the builder of the way by rows."""
        team = self._team()
        rows = self.at.index(1)
        for size in self._rows:
            rows = self.at.value(arith.MaxUIOp(rows, self._index(size)))
        few = self.at.compare("ult", rows, team)
        if self.when is not None:
            few = self.at.value(arith.AndIOp(few, self.when))
        by_pieces, by_rows = Builder(Block()), scf.YieldOp()
        pieces = Pieces(self.caller, self.kernel, self.parts, team, by_pieces)
        by_pieces.append(scf.YieldOp(pieces.emit(self._phases)))
        undone = Block([no := arith.ConstantOp.from_int_and_width(0, I1), scf.YieldOp(no)])
        choice = scf.IfOp(few, [I1], [by_pieces.block], [undone])
        self.at.append(choice)
        rest = scf.IfOp(choice.results[0], [], [Block([scf.YieldOp()])], [Block([by_rows])])
        self.at.append(rest)
        return Builder(by_rows)

    def _team(self) -> SSAValue:
        """How many threads are worth it; 0 if one, or if the axis is short."""
        want = threads_for(self._work, self.caller.machine, self.at, self._regions)
        if not self._work.factors:
            return team_size(self.caller, want, self.at)
        axis = self._index(self.space.sizes[self.space.axis or 0])
        worth = self.at.compare("uge", want, self.at.index(2))
        long = self.at.compare("uge", axis, self.at.index(self._long))
        both = self.at.value(arith.AndIOp(worth, long))
        none = self.at.index(0)
        # A small call must not even ask how many threads there are.
        end = scf.YieldOp()
        choice = scf.IfOp(both, [INDEX], [Block([end])], [Block([scf.YieldOp(none)])])
        self.at.append(choice)
        end.operands = [team_size(self.caller, want, Builder(end))]
        return choice.results[0]

    def _index(self, size: Size) -> SSAValue:
        return index_of(size, self.at)


class Pieces:
    """Emits the phases of a kernel, each a parallel region over pieces of the axis.

    What the pieces leave for each other lies in memory that is asked for first. Where there is
    none, nothing is done: the way by rows needs no such memory.
    """

    def __init__(
        self, caller: Caller, kernel: Kernel, parts: Sequence[Part], team: SSAValue, at: Builder
    ) -> None:
        self._caller, self._kernel, self._parts = caller, kernel, parts
        self._team, self._at = team, at
        self._inside = Builder(Block())
        space, _ = parts[0]
        assert space.axis is not None
        self._axis = index_of(space.sizes[space.axis], at)
        self._rows = index_of(Size.product(kernel.frame.row_sizes), at)
        self._scratch: list[SSAValue] = []
        self._memory: dict[SSAValue, SSAValue] = {}

    def emit(self, phases: Iterable[Kernel]) -> SSAValue:
        """Appends all; a flag: whether the kernel is done."""
        for phase in phases:
            for value in phase.outputs:
                if value in self._kernel.outputs:
                    self._memory[value] = self._caller.buffers.pointer(value)
                else:
                    self._memory[value] = self._allocate(value, self._rows)
            if phase.frame.axis is None:
                rows = Callee(self._caller, phase, space_of(phase), self._inside, few=True)
                self._inside.append(rows.call({}, self._memory))
            else:
                self._phase(phase)
        self._inside.append(scf.YieldOp())
        failed = any_failed(self._scratch, self._at)
        done = self._at.value(arith.XOrIOp(failed, self._at.integer(-1, I1)))
        undone = Block([scf.YieldOp()])
        self._at.append(scf.IfOp(done, [], [self._inside.block], [undone]))
        for buffer in self._scratch:
            self._at.append(memref.DeallocOp.get(buffer))
        return done

    def _phase(self, phase: Kernel) -> None:
        reductions = [stage for stage in phase.stages if stage.node.axis is not None]
        count, length = self._pieces(phase, reductions)
        total = self._at.value(arith.MuliOp(count, self._rows))
        # A contest leaves its best value as well. Outputs stay in the order of their ops.
        partial = {v: self._allocate(v, total) for s in reductions for v in s.node.op.results}
        made = [value for stage in phase.stages for value in stage.node.op.results]
        phase.outputs = [v for v in made if v in partial or v in phase.outputs]
        memory = {**self._memory, **partial}
        callees = [
            Callee(self._caller, phase, replace(space, ranged=(space.axis,)), self._inside, first)
            for space, first in self._parts
        ]
        team = Team(self._caller)
        first, end = team.share(count)
        body = self._piece(callees, length, memory)
        team.append(scf.ForOp(first, end, team.index(1), [], body))
        team.start(self._team, self._inside)
        for number, stage in enumerate(reductions):
            name = f"{callees[0].name}$join{number}"
            self._join(name, stage, [partial[v] for v in stage.node.op.results], count)

    def _pieces(self, phase: Kernel, reductions: Sequence[Stage]) -> tuple[SSAValue, SSAValue]:
        """The number of pieces of the axis, and how long they are."""
        at = self._at
        if any(stage.node.is_ordered for stage in reductions):
            length = at.index(phase.frame.chunk)
            return ceil_div(self._axis, length, at), length
        vector = at.index(LANES)
        each = ceil_div(ceil_div(self._axis, vector, at), self._team, at)
        return self._team, at.value(arith.MuliOp(each, vector))

    def _piece(self, callees: Sequence[Callee], length: SSAValue, memory: Memory) -> Block:
        """One piece, given its number; the last ones may be short or empty."""
        body = Builder(Block(arg_types=[INDEX]))
        number = body.block.args[0]
        start = body.value(arith.MuliOp(number, length))
        first = body.value(arith.MinUIOp(start, self._axis))
        left = body.value(arith.SubiOp(self._axis, first))
        size = body.value(arith.MinUIOp(left, length))
        for callee in callees:
            body.append(callee.call_piece(number, first, size, memory))
        body.append(scf.YieldOp())
        return body.block

    def _join(self, name: str, stage: Stage, partial: Sequence[SSAValue], count: SSAValue) -> None:
        """Combines the results of the pieces of each row, in order."""
        self._caller.module.body.block.add_op(join_function(name, stage))
        arguments = [count, self._rows, *partial, self._memory[stage.value]]
        self._inside.append(func.CallOp(name, arguments, []))

    def _allocate(self, value: SSAValue, count: SSAValue) -> SSAValue:
        """Memory for so many elements of the type of `value`, until the last phase is done."""
        buffer = memref.AllocOp.get(element_of(value), 64, [DYNAMIC_INDEX], [count])
        self._scratch.append(self._at.value(buffer))
        return self._at.value(to_pointer(self._scratch[-1]))
