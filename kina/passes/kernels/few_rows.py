"""Products of a few rows: the right factor is read once, as it lies, and nothing of it is packed.

    for each chunk of columns, whose sums stay in the nearest cache:
        for each block of k, of which the rows of the left factor are packed:
            where the right factor lies together along columns:
                for eight k at a time: all columns of the chunk, a vector after the other
            where it lies together along k:
                for each vector of columns: squares, transposed in registers, down k
        what else is computed of each element

So memory is read in a few long streams. Rows are 1, 2, 4 or 8 at a time; the last one stands for
those that are missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from xdsl.dialects import math
from xdsl.ir import SSAValue

from kina.passes.kernels.factors import VECTOR, Factors, spans
from kina.passes.kernels.function import Places
from kina.passes.kernels.hints import SECOND
from kina.passes.kernels.ops import Count, Flag, Ops
from kina.passes.kernels.packing import Room

HEIGHTS: dict[int, int] = {1: 8, 2: 8, 4: 4, 8: 4}
"""How many k are done together, by the number of rows."""
ROOM = 8192
"""Elements of sums, and of the left factor, that stay in the nearest cache."""
FAR = 512
"""Elements of a row from what is read to what is fetched."""


@dataclass(frozen=True)
class Chunk:
    """Some rows, and how many columns from `places` on; `stride` is from row to row of the sums."""

    places: Places
    rows: Count
    height: int
    columns: Count
    stride: int
    depth: int
    """From row to row of what is packed of the left factor."""


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
        columns, most = factors.static(factors.columns), max(fitting, default=1)
        self._sums = _room(columns, most, self._wide)
        self._left = _room(factors.static(factors.axis), most, VECTOR)
        self._square = factors.depth_of_square(self._lanes)
        self.size = self._sums + self._left + self._lanes * self._square
        self._even = columns or 1

    def build(self, ops: Ops, places: Places, memory: Room) -> None:
        """As many rows as there are, or one more than half as many."""
        self._memory = memory
        first, rows = self._factors.bounds(self._factors.rows)
        if self._factors.rows is not None:
            places = {**places, self._factors.rows: first}
        self._choose(ops, places, rows, self._heights)

    def _choose(self, ops: Ops, places: Places, rows: Count, heights: Sequence[int]) -> None:
        height, *larger = heights
        fits: Flag = True
        if larger:
            fits = ops.compare("ule", ops.index(rows), ops.index(height))
        ops.choose(
            fits,
            lambda inside: self._chunks(inside, places, rows, height),
            lambda inside: self._choose(inside, places, rows, larger),
        )

    def _chunks(self, ops: Ops, places: Places, rows: Count, height: int) -> None:
        first, columns = self._factors.bounds(self._factors.columns)
        stride = self._sums // height // self._wide * self._wide
        depth = self._left // height // VECTOR * VECTOR

        def chunk(inside: Ops, column: Count, count: Count) -> None:
            here = {**places, self._factors.columns: column}
            part = Chunk(here, rows, height, count, stride, depth)
            self._clear(inside, part)
            total = self._factors.total
            spans(inside, 0, total, depth, lambda each, at, k: self._block(each, part, at, k))
            self._finish(inside, part)

        spans(ops, first, columns, stride, chunk)

    # Memory.

    def _sum(self, ops: Ops, chunk: Chunk, row: Count, column: Count) -> Count:
        start = ops.plus(self._memory.left, ops.times(row, chunk.stride))
        return ops.plus(start, column)

    def _packed(self, ops: Ops, chunk: Chunk, row: Count, k: Count) -> Count:
        """Row after row where rows lie along k, else k after k."""
        steps = (chunk.depth, 1) if self._factors.left_is_along else (1, chunk.height)
        start = ops.plus(self._memory.left, self._sums)
        return ops.plus(ops.plus(start, ops.times(row, steps[0])), ops.times(k, steps[1]))

    def _load(self, ops: Ops, chunk: Chunk, column: Count, lanes: int) -> list[SSAValue]:
        memory = self._memory.memory
        return [
            ops.load(memory, self._sum(ops, chunk, row, column), lanes, None)
            for row in range(chunk.height)
        ]

    def _store(self, ops: Ops, chunk: Chunk, column: Count, held: Sequence[SSAValue]) -> None:
        for row, value in enumerate(held):
            ops.store(value, self._memory.memory, self._sum(ops, chunk, row, column), None)

    def _clear(self, ops: Ops, chunk: Chunk) -> None:
        zero = ops.spread(self._factors.zero(ops), self._lanes)
        ops.each(
            0,
            chunk.columns,
            self._lanes,
            lambda inside, column: self._store(inside, chunk, column, [zero] * chunk.height),
        )

    def _finish(self, ops: Ops, chunk: Chunk) -> None:
        """What is computed of each sum, row by row."""
        lanes = self._wide

        def row(inside: Ops, number: SSAValue) -> None:
            def columns(each: Ops, column: Count, present: Count) -> None:
                here = self._factors.at_row(each, chunk.places, number)
                here = self._moved(each, here, self._factors.columns, column)
                at = self._sum(each, chunk, number, column)
                value = each.load(self._memory.memory, at, lanes, None)
                self._factors.finish(each, here, value, lanes, present)

            even = self._even % lanes == 0 and self._factors.static(self._factors.columns)
            spans(inside, 0, chunk.columns, lanes, columns, even=bool(even))

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
            there = self._moved(each, here, factors.axis, k)
            made = factors.elements(each, factors.roles.left, there, factors.axis, VECTOR, present)
            each.store(made, self._memory.memory, self._packed(each, chunk, number, k), None)

        spans(ops, 0, depth, VECTOR, piece)

    def _pack_rows(self, chunk: Chunk, ops: Ops, k: SSAValue) -> None:
        factors = self._factors
        here = self._moved(ops, chunk.places, factors.axis, k)
        along = factors.columns if factors.rows is None else factors.rows
        lanes = 0 if factors.rows is None else chunk.height
        made = factors.elements(ops, factors.roles.left, here, along, lanes, chunk.rows)
        ops.store(made, self._memory.memory, self._packed(ops, chunk, 0, k), None)

    # Products.

    def _block(self, ops: Ops, chunk: Chunk, at: Count, depth: Count) -> None:
        here = {**chunk.places, self._factors.axis: at}
        chunk = Chunk(here, chunk.rows, chunk.height, chunk.columns, chunk.stride, chunk.depth)
        self._pack(ops, chunk, depth)
        if self._factors.right_is_across:
            lanes = self._lanes
            spans(
                ops,
                0,
                chunk.columns,
                lanes,
                lambda inside, column, present: self._down(inside, chunk, column, present, depth),
                even=self._is_even(lanes),
            )
            return
        together = HEIGHTS[chunk.height]
        rest = ops.remainder(depth, together)
        done = ops.minus(depth, rest)
        for first, count, step in ((0, done, together), (done, rest, 1)):
            ops.each(first, count, step, partial(self._along, chunk, step))

    def _is_even(self, lanes: int) -> bool:
        columns = self._factors.static(self._factors.columns)
        return columns is not None and columns % lanes == 0

    def _along(self, chunk: Chunk, together: int, ops: Ops, k: SSAValue) -> None:
        """All columns of the chunk, for some k together."""
        lanes = self._wide if chunk.height <= 2 else self._lanes
        places = [ops.plus(k, number) for number in range(together)]
        factors = [
            [self._factor(ops, chunk, row, place, lanes) for place in places]
            for row in range(chunk.height)
        ]

        def columns(inside: Ops, column: Count, present: Count) -> None:
            held = self._load(inside, chunk, column, lanes)
            for number in range(together):
                here = self._moved(inside, chunk.places, self._factors.axis, k)
                here = self._moved(inside, here, self._factors.axis, number)
                here = self._moved(inside, here, self._factors.columns, column)
                right = self._elements(inside, here, lanes, present)
                held = [
                    inside.value(math.FmaOp(mine[number], right, value))
                    for mine, value in zip(factors, held, strict=True)
                ]
            self._store(inside, chunk, column, held)

        spans(ops, 0, chunk.columns, lanes, columns, even=self._is_even(lanes))

    def _elements(self, ops: Ops, places: Places, lanes: int, present: Count) -> SSAValue:
        factors = self._factors
        later = self._moved(ops, places, factors.columns, FAR)
        factors.fetch(ops, factors.roles.right, later, SECOND, lanes)
        return factors.elements(ops, factors.roles.right, places, factors.columns, lanes, present)

    def _factor(self, ops: Ops, chunk: Chunk, row: int, k: Count, lanes: int) -> SSAValue:
        element = ops.load(self._memory.memory, self._packed(ops, chunk, row, k), 0, None)
        return ops.spread(element, lanes)

    def _down(self, ops: Ops, chunk: Chunk, column: Count, present: Count, depth: Count) -> None:
        """A vector of columns, down a block of k, by squares."""
        factors, size = self._factors, self._square
        places = self._moved(ops, chunk.places, factors.columns, column)
        rest = ops.remainder(depth, size)
        done = ops.minus(depth, rest)

        def square(inside: Ops, k: SSAValue, held: Sequence[SSAValue]) -> Sequence[SSAValue]:
            here = self._moved(inside, places, factors.axis, k)
            for lane in range(self._lanes):  # The same k of the next columns.
                later = self._moved(inside, here, factors.columns, self._lanes + lane)
                factors.fetch(inside, factors.roles.right, later, SECOND, 1)
            if chunk.height > 1:
                return self._stored(inside, self._at(chunk, places), present, k, size, held)
            for number, right in enumerate(
                factors.square(inside, here, present, size, self._lanes)
            ):
                held = self._products(inside, chunk, inside.plus(k, number), right, held)
            return held

        held = self._load(ops, chunk, column, self._lanes)
        held = ops.loop(0, done, size, held, square) if done != 0 else held
        if rest != 0:
            held = self._stored(ops, self._at(chunk, places), present, done, rest, held)
        self._store(ops, chunk, column, held)

    def _at(self, chunk: Chunk, places: Places) -> Chunk:
        return Chunk(places, chunk.rows, chunk.height, chunk.columns, chunk.stride, chunk.depth)

    def _stored(
        self,
        ops: Ops,
        chunk: Chunk,
        present: Count,
        first: Count,
        count: Count,
        held: Sequence[SSAValue],
    ) -> list[SSAValue]:
        """A square by way of memory: code that is short, and may take some of its k alone."""
        factors, lanes, memory = self._factors, self._lanes, self._memory.memory
        here = self._moved(ops, chunk.places, factors.axis, first)
        start = ops.plus(self._memory.left, self._sums + self._left)
        for number, right in enumerate(factors.square(ops, here, present, count, lanes)):
            ops.store(right, memory, ops.plus(start, number * lanes), None)

        def each(inside: Ops, number: SSAValue, so_far: Sequence[SSAValue]) -> Sequence[SSAValue]:
            at = inside.plus(start, inside.times(number, lanes))
            right = inside.load(memory, at, lanes, None)
            return self._products(inside, chunk, inside.plus(first, number), right, so_far)

        return ops.loop(0, count, 1, held, each)

    def _products(
        self, ops: Ops, chunk: Chunk, k: Count, right: SSAValue, held: Sequence[SSAValue]
    ) -> list[SSAValue]:
        return [
            ops.value(math.FmaOp(self._factor(ops, chunk, row, k, self._lanes), right, value))
            for row, value in enumerate(held)
        ]

    def _moved(self, ops: Ops, places: Places, loop: int, distance: Count) -> Places:
        return {**places, loop: ops.plus(places[loop], distance)}


def _room(size: int | None, rows: int, part: int) -> int:
    """Elements for so many rows of a size, in whole parts, that stay in the nearest cache."""
    if size is None:
        return ROOM
    return min(ROOM, rows * -(-size // part) * part)
