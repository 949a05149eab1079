"""Calls kernels: in bands of fibers, and shared by threads when the work is worth it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from xdsl import ir
from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from kina.frozen import frozen
from kina.machine import Machine
from kina.passes.builder import Builder
from kina.passes.scheduling.buffers import ceil_div, index_of
from kina.passes.scheduling.callee import Callee, Caller, Ranges
from kina.passes.scheduling.contractions import roles_of
from kina.passes.scheduling.grid import Grid, Side, grid_of
from kina.passes.scheduling.kernels import Kernel
from kina.passes.scheduling.pieces import Part, Split
from kina.passes.scheduling.space import Size, Space, space_of
from kina.passes.scheduling.team import Team
from kina.passes.scheduling.work import (
    grain_of,
    is_grid,
    may_be_worth,
    shared_loops,
    threads_for,
    work_of,
)

I1 = IntegerType(1)


@frozen
class Block:
    """The part of a kernel that is asked for, if it is not all: some iterations of some loops.

    `shift` is how many rows further the memory of the block lies than it would in the whole.
    `is_all` is a flag: whether the block is all there is.
    """

    ranges: Ranges = field(default_factory=dict[int, tuple[SSAValue, SSAValue]])
    shift: SSAValue | None = None
    is_all: SSAValue | None = None


def launch(caller: Caller, kernel: Kernel, at: Builder, block: Block | None = None) -> None:
    """Calls `kernel`: by pieces of its rows if these are few and long, or by rows."""
    block = block or Block()
    parts = parts_of(caller, kernel, at)
    split = Split(caller, kernel, space_of(kernel), parts, at, block.is_all)
    rest = split.emit() if split.is_possible else at
    for part, first in parts:
        Launch(caller, kernel, part, first, rest, block).emit()


def parts_of(caller: Caller, kernel: Kernel, at: Builder) -> list[Part]:
    """The loops of a kernel, or those of each of its bands of fibers."""
    space = space_of(kernel)
    if (roles := roles_of(kernel, space, caller.machine)) is not None:
        # Few rows read the narrow elements of two tiles at a time: `Factors.are_steps` asks for it.
        space.grains[roles.columns] = 2 * caller.machine.tile_columns
        if roles.rows is not None:
            space.grains[roles.rows] = caller.machine.tile_rows
        return [(space, None)]
    return list(_parts(kernel, space, caller.machine, at))


def blocks_of(kernel: Kernel, machine: Machine) -> tuple[int, ...]:
    """How many fibers are done side by side, as long as there are so many.

    A chain of products reads a row of its right factor after the other, and so longer parts of it.
    """
    chains = any(stage.node.is_chain for stage in kernel.stages)
    return (machine.chains, machine.band) if chains else (machine.band,)


def _parts(
    kernel: Kernel, space: Space, machine: Machine, at: Builder
) -> Iterator[tuple[Space, Size | None]]:
    """A kernel's bands of fibers, or all of its loops."""
    if space.is_banded:
        yield from _bands(space, blocks_of(kernel, machine), machine.narrow_bands, at)
    else:
        yield space, None


def _bands(
    space: Space, blocks: Sequence[int], narrow: Sequence[int], at: Builder
) -> Iterator[tuple[Space, Size]]:
    for block, count, first in bands(space.sizes[space.last], blocks, narrow, at):
        yield replace(space, sizes=(*space.sizes[:-1], count), block=block), first


def bands(
    width: Size, blocks: Sequence[int], narrow: Sequence[int], at: Builder
) -> Iterator[tuple[int, Size, Size]]:
    """Fibers of a block, number of blocks and first fiber of each band.

    `narrow` ones are for what is left where the width is known only at run time.
    """
    if not width.factors:
        yield from _known_bands(width.known, blocks)
        return
    left, first = index_of(width, at), at.index(0)
    for block in (*blocks, *narrow):
        size = at.index(block)
        count = at.value(arith.DivUIOp(left, size))
        yield block, Size(1, (count,)), Size(1, (first,))
        done = at.value(arith.MuliOp(count, size))
        left = at.value(arith.SubiOp(left, done))
        first = at.value(arith.AddiOp(first, done))


def _known_bands(width: int, blocks: Sequence[int]) -> Iterator[tuple[int, Size, Size]]:
    """Where the width is known, what is left is one band."""
    first = 0
    for block in blocks:
        count, width = divmod(width, block)
        if count:
            yield block, Size(count), Size(first)
            first += count * block
    if width:
        yield width, Size(1), Size(first)


class Launch:
    """Emits the call of one kernel: direct, or by every thread of a team."""

    def __init__(
        self,
        caller: Caller,
        kernel: Kernel,
        space: Space,
        first: Size | None,
        at: Builder,
        block: Block,
    ) -> None:
        self._caller, self._space, self._at, self._block = caller, space, at, block
        sizes = tuple(
            Size(1, (block.ranges[loop][1],)) if loop in block.ranges else size
            for loop, size in enumerate(space.sizes)
        )
        self._work = work_of(kernel, replace(space, sizes=sizes), caller.machine)
        self._shared: tuple[int, ...] = ()
        if caller.threads and may_be_worth(self._work, caller.machine):
            self._shared = shared_loops(space, caller.machine, any_loop=bool(block.ranges))
        space.ranged = tuple(sorted({*block.ranges, *self._shared}))
        self._callee = Callee(caller, kernel, space, at, first)
        zero = at.index(0)
        self._whole: Ranges = {loop: (zero, self._index(sizes[loop])) for loop in space.ranged}
        self._whole |= block.ranges

    def emit(self) -> None:
        """Inserts the call."""
        zero = self._at.index(0)
        if not self._shared:
            self._at.append(self._call(self._whole, zero))
            return
        units = {loop: self._units(loop) for loop in self._shared}
        join = arith.MuliOp if is_grid(self._space, self._shared) else arith.MaxUIOp
        most, *others = units.values()
        for count in others:
            most = self._at.value(join(most, count))
        # One row is nothing to share.
        want = self._at.value(
            arith.MinUIOp(threads_for(self._work, self._caller.machine, self._at), most)
        )
        if not self._work.factors:
            self._parallel(want, units, most, zero)
            return
        # One thread calls the kernel directly: a small call must not pay for threads.
        worth = self._at.compare("uge", want, self._at.index(2))
        self._callee.keep_out_of_line()
        end = scf.YieldOp()
        alone = ir.Block([self._call(self._whole, zero), scf.YieldOp()])
        self._at.append(scf.IfOp(worth, [], [ir.Block([end])], [alone]))
        self._at = Builder(end)
        self._parallel(want, units, most, zero)

    def _call(self, ranges: Ranges, work_start: SSAValue) -> func.CallOp:
        return self._callee.call(ranges, work_start=work_start, shift=self._block.shift)

    def _index(self, size: Size) -> SSAValue:
        return index_of(size, self._at)

    def _parallel(
        self, want: SSAValue, units: dict[int, SSAValue], most: SSAValue, zero: SSAValue
    ) -> None:
        """At most `want` threads do the kernel, each its share of one loop, or of two."""
        if self._callee.has_workspace:  # one for each thread that there was on entry
            want = self._at.value(arith.MinUIOp(want, self._caller.team))
        team = Team(self._caller)
        if is_grid(self._space, self._shared):
            grid = self._grid(want, units)
            want, shares = grid.size(self._at), self._of_grid(team, grid, units)
        else:
            shares = self._of_longest(team, units, most, zero)
        for loop, (first, length) in shares.items():
            if loop in self._block.ranges:
                first = team.value(arith.AddiOp(self._whole[loop][0], first))
            shares[loop] = first, length
        ranges = {**self._whole, **shares}
        start = zero
        if self._callee.has_workspace:
            start = team.value(arith.MuliOp(team.me, team.index(self._callee.work_size)))
        team.append(self._call(ranges, start))
        team.start(want, self._at)

    def _of_longest(
        self, team: Team, units: dict[int, SSAValue], most: SSAValue, zero: SSAValue
    ) -> Ranges:
        """The running thread's part of the longest loop, and all of the others."""
        chosen = self._longest(units, most)
        shares: Ranges = {}
        for loop, count in units.items():
            first, length = self._share(loop, team.share(count), team)
            if chosen:
                first = team.select(chosen[loop], first, zero)
                length = team.select(chosen[loop], length, self._whole[loop][1])
            shares[loop] = first, length
        return shares

    def _grid(self, want: SSAValue, units: dict[int, SSAValue]) -> Grid:
        """How so many threads share the rows and the columns of a product."""
        machine = self._caller.machine
        rows, columns = (
            Side(count, grain_of(self._space, loop, machine)) for loop, count in units.items()
        )
        return grid_of(want, rows, columns, self._at)

    def _of_grid(self, team: Team, grid: Grid, units: dict[int, SSAValue]) -> Ranges:
        """The running thread's part of both; there may be one thread after all."""
        across = team.value(arith.MinUIOp(grid.across, team.size))
        down = team.value(arith.DivUIOp(team.size, across))
        row = team.value(arith.DivUIOp(team.me, across))
        column = team.value(arith.RemUIOp(team.me, across))
        (rows, some), (columns, others) = units.items()
        return {
            rows: self._share(rows, team.share(some, row, down), team),
            columns: self._share(columns, team.share(others, column, across), team),
        }

    def _share(
        self, loop: int, bounds: tuple[SSAValue, SSAValue], team: Team
    ) -> tuple[SSAValue, SSAValue]:
        """First iteration and number of iterations between two units."""
        first, end = bounds
        if (grain := grain_of(self._space, loop, self._caller.machine)) != 1:
            size = team.index(grain)
            first, end = (
                team.value(
                    arith.MinUIOp(team.value(arith.MuliOp(bound, size)), self._whole[loop][1])
                )
                for bound in (first, end)
            )
        return first, team.value(arith.SubiOp(end, first))

    def _units(self, loop: int) -> SSAValue:
        grain, (_, whole) = grain_of(self._space, loop, self._caller.machine), self._whole[loop]
        return whole if grain == 1 else ceil_div(whole, self._at.index(grain), self._at)

    def _longest(self, units: dict[int, SSAValue], most: SSAValue) -> dict[int, SSAValue]:
        """For each loop whether it is the one to share; nothing if there is only one."""
        if len(units) == 1:
            return {}
        false = self._at.integer(0, I1)
        free = self._at.integer(-1, I1)
        chosen: dict[int, SSAValue] = {}
        for loop, count in units.items():
            is_best = self._at.compare("eq", count, most)
            chosen[loop] = self._at.select(is_best, free, false)
            free = self._at.select(is_best, false, free)
        return chosen
