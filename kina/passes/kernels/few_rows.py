"""Products of a few rows: the right factor is read once, as it lies, and nothing of it is packed.

    for each chunk of columns, whose sums stay in the nearest cache:
        for each block of k, of which the rows of the left factor are packed:
            where the right factor lies together along columns:
                for eight k at a time: all columns of the chunk, a vector after the other
            where it lies together along k:
                vectors of columns, turned in registers (`turned_rows.py`)
        what else is computed of each element

So memory is read in a few long streams. Rows are 1, 2, 4 or 8 at a time; the last one stands for
those that are missing.
"""

from __future__ import annotations

from functools import partial

from xdsl.dialects import math
from xdsl.ir import SSAValue

from kina.passes.kernels.ahead import Ahead
from kina.passes.kernels.factors import VECTOR, Factors, moved, spans
from kina.passes.kernels.function import Places
from kina.passes.kernels.ops import Count, Ops
from kina.passes.kernels.packing import Room
from kina.passes.kernels.row_memory import Chunk, RowMemory
from kina.passes.kernels.tiling import by_height
from kina.passes.kernels.turned_rows import TurnedRows

HEIGHTS: dict[int, int] = {1: 8, 2: 8, 4: 4, 8: 4}
"""How many k are done together, by the number of rows."""


class FewRows:
    """Writes the loops for few rows; `size` is the memory that they take."""

    def __init__(self, factors: Factors) -> None:
        self._factors, machine = factors, factors.function.machine
        self._lanes = min(VECTOR, machine.tile_columns // 2)
        self._wide = machine.tile_columns
        known = factors.static(factors.rows)
        fitting = [height for height in HEIGHTS if height < 2 * max(machine.few_rows, 1)]
        if known is not None:
            fitting = [height for height in fitting if height >= known][:1]
        self._heights = fitting
        most = max(fitting, default=1)
        self._widest = self._wide if factors.least_bytes > 2 else 2 * self._wide
        self._memory = RowMemory(factors, most, self._widest)
        self._ahead = Ahead(factors)
        self._turned = TurnedRows(factors, self._memory, self._lanes)
        self.size = self._memory.size + self._turned.size

    def build(self, ops: Ops, places: Places, memory: Room) -> None:
        """As many rows as there are, or one more than half as many."""
        self._memory.room = memory
        first, rows = self._factors.bounds(self._factors.rows)
        if self._factors.rows is not None:
            places = {**places, self._factors.rows: first}
        by_height(ops, rows, self._heights, partial(self._chunks, places, rows))

    def _chunks(self, places: Places, rows: Count, ops: Ops, height: int) -> None:
        first, columns = self._factors.bounds(self._factors.columns)
        stride = self._memory.sums // height // self._widest * self._widest
        depth = self._memory.left // height // VECTOR * VECTOR

        def chunk(inside: Ops, column: Count, count: Count) -> None:
            here = {**places, self._factors.columns: column}
            part = Chunk(here, rows, height, count, stride, depth)
            self._clear(inside, part)
            total = self._factors.total
            spans(inside, 0, total, depth, lambda each, at, k: self._block(each, part, at, k))
            self._finish(inside, part)

        spans(ops, first, columns, stride, chunk)

    # Memory.

    def _clear(self, ops: Ops, chunk: Chunk) -> None:
        zero = ops.spread(self._factors.zero(ops), self._lanes)
        ops.each(
            0,
            chunk.columns,
            self._lanes,
            lambda inside, column: self._memory.store(inside, chunk, column, [zero] * chunk.height),
        )

    def _finish(self, ops: Ops, chunk: Chunk) -> None:
        """What is computed of each sum, row by row."""
        lanes = self._wide

        def row(inside: Ops, number: SSAValue) -> None:
            def columns(each: Ops, column: Count, present: Count) -> None:
                here = self._factors.at_row(each, chunk.places, number)
                here = moved(each, here, self._factors.columns, column)
                at = self._memory.sum(each, chunk, number, column)
                value = each.load(self._memory.memory, at, lanes, None)
                self._factors.finish(each, here, value, lanes, present)

            even = self._factors.are_steps(lanes)
            spans(inside, 0, chunk.columns, lanes, columns, even=even)

        ops.each(0, chunk.rows, 1, row)

    def _pack(self, ops: Ops, chunk: Chunk, depth: Count) -> None:
        """The rows of the left factor; what stands for missing ones may be anything."""
        if self._factors.left_is_along:
            ops.each(0, chunk.height, 1, partial(self._pack_row, chunk, depth))
        else:
            ops.each(0, depth, 1, partial(self._pack_rows, chunk))

    def _pack_row(self, chunk: Chunk, depth: Count, ops: Ops, number: SSAValue) -> None:
        factors = self._factors
        row = ops.least(number, ops.minus(chunk.rows, 1))
        here = factors.at_row(ops, chunk.places, row)

        def piece(each: Ops, k: Count, present: Count) -> None:
            there = moved(each, here, factors.axis, k)
            made = factors.elements(each, factors.roles.left, there, factors.axis, VECTOR, present)
            each.store(made, self._memory.memory, self._memory.packed(each, chunk, number, k), None)

        spans(ops, 0, depth, VECTOR, piece)

    def _pack_rows(self, chunk: Chunk, ops: Ops, k: SSAValue) -> None:
        factors = self._factors
        here = moved(ops, chunk.places, factors.axis, k)
        along = factors.columns if factors.rows is None else factors.rows
        lanes = 0 if factors.rows is None else chunk.height
        made = factors.elements(ops, factors.roles.left, here, along, lanes, chunk.rows)
        ops.store(made, self._memory.memory, self._memory.packed(ops, chunk, 0, k), None)

    # Products.

    def _block(self, ops: Ops, chunk: Chunk, at: Count, depth: Count) -> None:
        here = {**chunk.places, self._factors.axis: at}
        chunk = chunk.at(here)
        self._pack(ops, chunk, depth)
        if self._factors.right_is_across:
            self._turned.block(ops, chunk, depth)
            return
        together = self._together(chunk.height)
        rest = ops.remainder(depth, together)
        done = ops.minus(depth, rest)
        for first, count, step in ((0, done, together), (done, rest, 1)):
            ops.each(first, count, step, partial(self._along, chunk, step))

    def _together(self, height: int) -> int:
        """How many k; one row reads short rows one by one, unless sums take longer than that."""
        if height > 1 or not self._ahead.is_short:
            return HEIGHTS[height]
        return 1 if self._factors.least_bytes > 1 else 2

    def _along(self, chunk: Chunk, together: int, ops: Ops, k: SSAValue) -> None:
        """All columns of the chunk, for some k together."""
        rights = self._factors
        lanes = {1: self._widest, 2: self._wide}.get(chunk.height, self._lanes)
        places = [ops.plus(k, number) for number in range(together)]
        factors = [
            [self._memory.factor(ops, chunk, row, place, lanes) for place in places]
            for row in range(chunk.height)
        ]

        def columns(inside: Ops, column: Count, present: Count) -> None:
            held = self._memory.load(inside, chunk, column, lanes)
            for number in range(together):
                here = moved(inside, chunk.places, self._factors.axis, k)
                here = moved(inside, here, self._factors.axis, number)
                here = moved(inside, here, self._factors.columns, column)
                self._ahead.fetch(inside, here, together, lanes, chunk.stride)
                right = rights.elements(
                    inside, rights.roles.right, here, rights.columns, lanes, present
                )
                held = [
                    inside.value(math.FmaOp(mine[number], right, value))
                    for mine, value in zip(factors, held, strict=True)
                ]
            self._memory.store(inside, chunk, column, held)

        spans(ops, 0, chunk.columns, lanes, columns, even=self._factors.are_steps(lanes))
