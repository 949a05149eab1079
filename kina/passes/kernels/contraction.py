"""Matrix products in tiles: rows x columns of accumulators stay in registers while k runs.

    for each panel of columns:
        for each block of k:
            the panel of the right factor is packed, k after k
            for each tile of rows:
                the tile of the left factor is packed
                accumulators from +0.0, or from where the last block left them
                for each k: a row of the panel, times each element of the tile's column
                after the last block: what else is computed of each element; else the sums are kept

An element's chain goes on from block to block through memory, which rounds nothing, so no size of
a tile or a block can be seen in a result. Packing computes what stands behind a factor (a cast, a
scale, a transposed read) once for a whole tile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from xdsl.dialects import math
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from kina.passes.kernels.function import KernelFunction, Places
from kina.passes.kernels.hints import Hints
from kina.passes.kernels.kernel import nest
from kina.passes.kernels.ops import Count, Ops
from kina.passes.kernels.step import Row, Step, start_of
from kina.passes.scheduling.contractions import Factor, Roles
from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.sums import holds_sums

PieceBody: TypeAlias = Callable[[Ops, SSAValue, Step, Count], None]
"""What is done with a piece: where, which k, the step that computes it, and how many of it."""
PIECE = 16
"""Elements that are packed at a time."""
HEIGHTS = (4, 1)
"""Rows of the smaller tiles, for what is left of the rows."""


class Contraction:
    """Writes the loops of a kernel with one chain of products."""

    def __init__(self, function: KernelFunction, roles: Roles) -> None:
        self.function, self._roles, self._stage = function, roles, roles.stage
        self.hints = Hints(function)
        space, machine = function.space, function.machine
        assert space.axis is not None
        self._rows, self._axis, self._columns = roles.rows, space.axis, space.last
        self._height, self._width = machine.tile_rows, machine.tile_columns
        self._total = function.size(space.size(self._axis))
        self._whole = isinstance(self._total, int) and self._total <= machine.tile_depth
        depth = self._total if isinstance(self._total, int) else machine.tile_depth
        self._depth = min(depth, machine.tile_depth)
        self._by_rows = self._lies_along(roles.left, self._axis)
        tall = self._height * (self._depth + PIECE)
        room = tall if self._by_rows else self._depth * PIECE
        self._work, self._left = function.workspace(f32, room + self._depth * self._width)
        self._right = function.entry.plus(self._left, room)
        function.strategy, function.lanes = f"tiles of {self._height} rows", self._width

    def _lies_along(self, factor: Factor, loop: int) -> bool:
        """Whether what a factor reads lies together along a loop."""
        block = self._stage.block
        leaves = zip(block.args, self._stage.leaves, strict=False)
        used = {operand for op in factor.ops for operand in op.operands} | {factor.value}
        strides = [
            self.function.stride(value, self._stage, access, loop)
            for argument, (value, access) in leaves
            if argument in used
        ]
        return all(isinstance(stride, int) and stride in (0, 1) for stride in strides)

    def build(self) -> None:
        """Appends everything to the function."""
        space = self.function.space
        outer = [loop for loop in space.parallel if loop not in (self._rows, self._columns)]
        nest(self.function, self.function.ops, outer, {}, self._panels)
        self.hints.finish()

    def _panels(self, ops: Ops, places: Places) -> None:
        first, count = self.function.bounds(self._columns)
        end = ops.plus(first, count)
        even = isinstance(count, int) and count % self._width == 0

        def panel(inside: Ops, at: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            left = self._width if even else inside.least(inside.minus(end, at), self._width)
            self._blocks(inside, {**places, self._columns: at}, left)
            return ()

        ops.loop(first, end, self._width, (), panel)

    def _blocks(self, ops: Ops, places: Places, present: Count) -> None:
        if self._whole:
            self._block(ops, places, present, 0, self._total)
            return

        def block(inside: Ops, at: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            depth = inside.least(inside.minus(self._total, at), self._depth)
            self._block(inside, places, present, at, depth)
            return ()

        ops.loop(0, self._total, self._depth, (), block)

    def _block(self, ops: Ops, places: Places, present: Count, at: Count, depth: Count) -> None:
        self._pack_right(ops, places, present, at, depth)
        first, left = self.function.bounds(self._rows)
        for height in (self._height, *HEIGHTS):
            rest = ops.remainder(left, height)
            done = ops.minus(left, rest)
            if done == 0:
                continue

            def tile(
                inside: Ops, row: SSAValue, _: Sequence[SSAValue], height: int = height
            ) -> Sequence[SSAValue]:
                here = {**places, self._rows: row}
                self._tile(inside, here, present, at, depth, height)
                return ()

            end = ops.plus(first, done)
            ops.loop(first, end, height, (), tile)
            first, left = end, rest

    # Packing.

    def _step(self, ops: Ops, places: Places, along: int, lanes: int, present: Count) -> Step:
        mask = None if present == lanes else ops.mask(present, lanes)
        row = Row(ops, places)
        end = None if mask is None else ops.plus(places[along], present)
        return Step(self.function, self.hints, row, along, lanes, mask, end)

    def _part(self, step: Step, factor: Factor) -> SSAValue:
        value = step.part(self._stage, factor.value, factor.ops)
        return step.ops.spread(value, step.lanes)

    def _pack_right(
        self, ops: Ops, places: Places, present: Count, at: Count, depth: Count
    ) -> None:
        """A row of the panel for each k."""
        if self._lies_along(self._roles.right, self._axis):
            self._pack_columns(ops, places, present, at, depth)
            return

        def row(inside: Ops, k: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            here = {**places, self._axis: inside.plus(at, k)}
            step = self._step(inside, here, self._columns, self._width, present)
            place = inside.plus(self._right, inside.times(k, self._width))
            inside.store(self._part(step, self._roles.right), self._work, place, None)
            return ()

        ops.loop(0, depth, 1, (), row)

    def _pack_columns(
        self, ops: Ops, places: Places, present: Count, at: Count, depth: Count
    ) -> None:
        """The same where k lies together: columns are read along it, and written across."""
        scratch = self.function.scratch(f32, PIECE)

        def column(inside: Ops, number: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            start = inside.plus(places[self._columns], number)
            here = {**places, self._columns: start}
            target = inside.plus(self._right, number)
            self._pieces(
                inside, here, at, depth, lambda o, k, step, n: across(o, k, step, n, target)
            )
            return ()

        def across(inside: Ops, k: SSAValue, step: Step, count: Count, target: Count) -> None:
            inside.store(self._part(step, self._roles.right), scratch, 0, None)

            def lane(each: Ops, number: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
                row = each.times(each.plus(k, number), self._width)
                value = each.load(scratch, number, 0, None)
                each.store(value, self._work, each.plus(target, row), None)
                return ()

            inside.loop(0, count, 1, (), lane)

        ops.loop(0, present, 1, (), column)

    def _pieces(self, ops: Ops, places: Places, at: Count, depth: Count, body: PieceBody) -> None:
        """Walks a block of k a piece at a time."""
        even = isinstance(depth, int) and depth % PIECE == 0

        def piece(inside: Ops, k: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            left = PIECE if even else inside.least(inside.minus(depth, k), PIECE)
            here = {**places, self._axis: inside.plus(at, k)}
            body(inside, k, self._step(inside, here, self._axis, PIECE, left), left)
            return ()

        ops.loop(0, depth, PIECE, (), piece)

    def _pack_left(self, ops: Ops, places: Places, at: Count, depth: Count, height: int) -> None:
        """The tile row by row where rows lie together, else k by k."""
        if not self._by_rows:
            self._pack_across(ops, places, at, depth, height)
            return

        def row(inside: Ops, number: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            here = {**places, self._rows: inside.plus(places[self._rows], number)}
            start = inside.plus(self._left, inside.times(number, self._depth + PIECE))

            def store(each: Ops, k: SSAValue, step: Step, _: Count) -> None:
                value = self._part(step, self._roles.left)
                each.store(value, self._work, each.plus(start, k), None)

            self._pieces(inside, here, at, depth, store)
            return ()

        ops.loop(0, height, 1, (), row)

    def _pack_across(self, ops: Ops, places: Places, at: Count, depth: Count, height: int) -> None:
        def column(inside: Ops, k: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            here = {**places, self._axis: inside.plus(at, k)}
            step = self._step(inside, here, self._rows, PIECE, height)
            place = inside.plus(self._left, inside.times(k, PIECE))
            inside.store(self._part(step, self._roles.left), self._work, place, None)
            return ()

        ops.loop(0, depth, 1, (), column)

    # One tile.

    def _tile(
        self, ops: Ops, places: Places, present: Count, at: Count, depth: Count, height: int
    ) -> None:
        self._pack_left(ops, places, at, depth, height)
        zero = start_of(ops, self._stage.node.op.outputs[0])
        assert zero is not None
        starts = [ops.spread(zero, self._width)] * height
        rows = [{**places, self._rows: ops.plus(places[self._rows], r)} for r in range(height)]
        if not self._whole:
            later = ops.compare("ne", ops.index(at), ops.index(0))
            starts = ops.when(
                later, starts, lambda inside: [self._kept(inside, row, present) for row in rows]
            )
        held = ops.loop(0, depth, 1, starts, self._multiply)
        if self._whole:
            self._finish(ops, rows, held, present)
            return
        end = ops.compare("eq", ops.index(ops.plus(at, depth)), ops.index(self._total))
        ops.either(
            end,
            lambda inside: self._finish(inside, rows, held, present),
            lambda inside: self._keep(inside, rows, held, present),
        )

    def _multiply(self, ops: Ops, k: SSAValue, held: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """One k of a tile: a row of the panel times each element of a column of the tile."""
        place = ops.plus(self._right, ops.times(k, self._width))
        panel = ops.load(self._work, place, self._width, None)
        steps = (self._depth + PIECE, 1) if self._by_rows else (1, PIECE)
        start = ops.plus(self._left, ops.times(k, steps[1]))
        made: list[SSAValue] = []
        for row, so_far in enumerate(held):
            element = ops.load(self._work, ops.plus(start, row * steps[0]), 0, None)
            factor = ops.spread(element, self._width)
            made.append(ops.value(math.FmaOp(factor, panel, so_far)))
        return made

    def _finish(
        self, ops: Ops, rows: Sequence[Places], held: Sequence[SSAValue], present: Count
    ) -> tuple[()]:
        """Stores what is computed of each element."""
        kernel = self.function.kernel
        for places, value in zip(rows, held, strict=True):
            step = self._step(ops, places, self._columns, self._width, present)
            step.row.made[self._stage.value] = value
            for stage in kernel.stages:
                if stage.value in kernel.outputs:
                    made = value if stage is self._stage else step.value(stage)
                    step.write(stage, made, stage.value)
        return ()

    # Sums that are not complete yet, where a result will be.

    def _keeper(self) -> Stage:
        outputs = self.function.kernel.outputs
        kept = [stage for stage in self.function.kernel.stages if stage.value in outputs]
        return next(stage for stage in kept if holds_sums(stage))

    def _keep(
        self, ops: Ops, rows: Sequence[Places], held: Sequence[SSAValue], present: Count
    ) -> tuple[()]:
        keeper = self._keeper()
        for places, value in zip(rows, held, strict=True):
            step = self._step(ops, places, self._columns, self._width, present)
            step.write(keeper, value, keeper.value)
        return ()

    def _kept(self, ops: Ops, places: Places, present: Count) -> SSAValue:
        keeper = self._keeper()
        at = self.function.offset(ops, keeper.value, keeper, keeper.written, places)
        mask = None if present == self._width else ops.mask(present, self._width)
        return ops.load(self.function.buffer(keeper.value), at, self._width, mask)
