"""Few rows of products of small integers: the right factor is read once, as it lies.

    for each chunk of columns, whose sums stay in the nearest cache:
        for each block of k, of which the rows of the left factor are packed as words:
            where the right factor lies together along columns:
                for two words of k at a time: all columns of the chunk, interleaved in registers
            where it lies together along k:
                for some columns at a time: down k, then all sums of lanes at once
        what else is computed of each element

Interleaved columns lie in the order of the shuffles until they are finished.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.dialects import arith
from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from kina.passes.kernels.ahead import Ahead
from kina.passes.kernels.dot_packing import DotPacking, DotRoom
from kina.passes.kernels.dot_unit import DotUnit, Words, interleaved, order_of
from kina.passes.kernels.factors import VECTOR, Factors, moved, spans
from kina.passes.kernels.function import Places
from kina.passes.kernels.hints import SECOND
from kina.passes.kernels.ops import Count, Ops, lanes_of
from kina.passes.kernels.row_memory import Chunk, room_of
from kina.passes.kernels.tiling import by_height

HEIGHTS = (1, 4, 8)
"""Rows that are done together."""
TOGETHER = 2
"""Words of k that are done together, where columns lie together."""


class DotRows:
    """Writes the loops for few rows; `size` is the memory that they take."""

    def __init__(self, factors: Factors, unit: DotUnit, packing: DotPacking) -> None:
        self._factors, self._unit, self._packing = factors, unit, packing
        self._ahead = Ahead(factors)
        few = factors.function.machine.few_rows
        known = factors.static(factors.rows)
        needed = sum(height < few for height in HEIGHTS) + 1
        fitting = list(HEIGHTS[:needed])
        if known is not None:
            fitting = [height for height in fitting if height >= known][:1]
        self._heights, most = fitting, max(fitting, default=1)
        self._across = factors.right_is_across
        self._wide = unit.lanes if self._across else unit.elements
        columns, depth = factors.static(factors.columns), factors.static(factors.axis)
        self._sums = room_of(columns, most, self._wide)
        words = None if depth is None else -(-depth // unit.group)
        self._left = room_of(words, most, unit.lanes)
        self._fixes = self._sums + self._left
        self.size = self._fixes + VECTOR

    def build(self, ops: Ops, places: Places, room: DotRoom) -> None:
        """As many rows as there are, or one more than half as many."""
        self._words: Words = room.words
        self._start = room.left
        first, rows = self._factors.bounds(self._factors.rows)
        if self._factors.rows is not None:
            places = {**places, self._factors.rows: first}
        by_height(ops, rows, self._heights, partial(self._chunks, places, rows))

    def _chunks(self, places: Places, rows: Count, ops: Ops, height: int) -> None:
        first, columns = self._factors.bounds(self._factors.columns)
        stride = self._sums // height // self._wide * self._wide
        depth = self._left // height // self._unit.lanes * self._unit.lanes

        def chunk(inside: Ops, column: Count, count: Count) -> None:
            here = {**places, self._factors.columns: column}
            part = Chunk(here, rows, height, count, stride, depth)
            self._clear(inside, part)
            total, most = self._factors.total, depth * self._unit.group
            spans(inside, 0, total, most, lambda each, at, k: self._block(each, part, at, k))
            self._finish(inside, part)

        spans(ops, first, columns, stride, chunk)

    # Memory.

    def _at(self, ops: Ops, place: Count) -> Count:
        return ops.plus(self._start, place)

    def _sum(self, ops: Ops, chunk: Chunk, row: Count, column: Count) -> Count:
        return self._at(ops, ops.plus(ops.times(row, chunk.stride), column))

    def _packed(self, ops: Ops, chunk: Chunk, row: Count) -> Count:
        """Where a row of the left factor begins."""
        return self._at(ops, ops.plus(ops.times(row, chunk.depth), self._sums))

    def _clear(self, ops: Ops, chunk: Chunk) -> None:
        zeros, words = self._unit.zeros(ops), self._words
        for row in range(chunk.height):
            fix = self._at(ops, self._fixes + row)
            words.store(ops, ops.integer(0, i32), fix)

            def clear(inside: Ops, column: SSAValue, row: int = row) -> None:
                words.store(inside, zeros, self._sum(inside, chunk, row, column))

            whole = ops.times(_parts(ops, chunk.columns, self._wide), self._wide)
            ops.each(0, whole, self._unit.lanes, clear)

    def _finish(self, ops: Ops, chunk: Chunk) -> None:
        """What is computed of each sum, row by row."""
        factors, lanes, unit = self._factors, self._wide, self._unit

        def row(inside: Ops, number: SSAValue) -> None:
            at = self._at(inside, inside.plus(number, self._fixes))
            fix = inside.spread(self._words.load(inside, at, 0), lanes)

            def columns(each: Ops, column: Count, present: Count) -> None:
                here = moved(each, chunk.places, factors.columns, column)
                here = factors.at_row(each, here, number)
                value = self._words.load(each, self._sum(each, chunk, number, column), lanes)
                if not self._across:
                    value = each.lanes_of(value, order_of(lanes, unit.group))
                if unit.is_biased:
                    value = each.value(arith.AddiOp(value, fix))
                value = unit.narrowed(each, value, factors.stage.element)
                factors.finish(each, here, value, lanes, present)

            spans(inside, 0, chunk.columns, lanes, columns, even=factors.are_steps(lanes))

        ops.each(0, chunk.rows, 1, row)

    def _pack(self, ops: Ops, chunk: Chunk, depth: Count) -> None:
        """The rows of the left factor; the last one stands for those that are missing."""

        def row(inside: Ops, number: SSAValue) -> None:
            mine = inside.least(number, inside.minus(chunk.rows, 1))
            here = self._factors.at_row(inside, chunk.places, mine)
            start = self._packed(inside, chunk, number)
            made = self._packing.row(inside, self._words, here, start, depth)
            if made is not None:
                fix = self._at(inside, inside.plus(number, self._fixes))
                so_far = self._words.load(inside, fix, 0)
                self._words.store(inside, inside.value(arith.AddiOp(so_far, made)), fix)

        ops.each(0, chunk.height, 1, row)

    # Products.

    def _block(self, ops: Ops, chunk: Chunk, at: Count, depth: Count) -> None:
        chunk = chunk.at({**chunk.places, self._factors.axis: at})
        self._pack(ops, chunk, depth)
        if self._across:
            count = self._unit.lanes // chunk.height or 1
            down = partial(self._down, chunk, count, depth)
            ops.each(0, chunk.columns, count, down)
            return
        size = TOGETHER * self._unit.group
        rest = ops.remainder(depth, size)
        done = ops.minus(depth, rest)
        for first, count, step in ((0, done, TOGETHER), (done, rest, 1)):
            along = partial(self._along, chunk, step, depth)
            ops.each(first, count, step * self._unit.group, along)

    def _along(self, chunk: Chunk, together: int, depth: Count, ops: Ops, k: SSAValue) -> None:
        """All columns of the chunk, for some words of k together."""
        unit, words = self._unit, self._words
        word = ops.divide(k, unit.group)
        left = [
            [
                ops.spread(words.load(ops, ops.plus(start, number), 0), unit.lanes)
                for number in range(together)
            ]
            for start in (
                ops.plus(self._packed(ops, chunk, row), word) for row in range(chunk.height)
            )
        ]
        last = None if together > 1 else ops.minus(depth, 1)

        def columns(inside: Ops, column: Count, present: Count) -> None:
            right = [
                self._interleaved(inside, chunk, column, present, k, number, last)
                for number in range(together)
            ]
            for row, factors in enumerate(left):
                for register in range(unit.group):
                    start = inside.plus(column, register * unit.lanes)
                    at = self._sum(inside, chunk, row, start)
                    made = words.load(inside, at, unit.lanes)
                    for factor, mine in zip(factors, right, strict=True):
                        made = unit.add(inside, made, mine[register], factor)
                    words.store(inside, made, at)

        spans(ops, 0, chunk.columns, self._wide, columns, even=self._factors.are_steps(self._wide))

    def _interleaved(
        self,
        ops: Ops,
        chunk: Chunk,
        column: Count,
        present: Count,
        k: Count,
        number: int,
        last: Count | None,
    ) -> list[SSAValue]:
        """Words of some columns; behind the last k, where the left factor is zero, that one."""
        factors, unit, rows = self._factors, self._unit, list[SSAValue]()
        for at in range(number * unit.group, (number + 1) * unit.group):
            place = ops.plus(k, at)
            if last is not None and at:
                place = ops.least(place, last)
            here = moved(ops, chunk.places, factors.axis, place)
            here = moved(ops, here, factors.columns, column)
            self._ahead.fetch(ops, here, TOGETHER * unit.group, self._wide, chunk.stride)
            made = factors.elements(
                ops, factors.roles.right, here, factors.columns, self._wide, present
            )
            rows.append(unit.packed(ops, made))
        return [unit.right(ops, words) for words in interleaved(ops, rows)]

    def _down(self, chunk: Chunk, count: int, depth: Count, ops: Ops, column: SSAValue) -> None:
        """Some columns, down a block of k."""
        factors, unit, words = self._factors, self._unit, self._words
        even = isinstance(depth, int) and depth % unit.elements == 0
        places = [
            moved(
                ops,
                chunk.places,
                factors.columns,
                ops.least(ops.plus(column, number), ops.minus(chunk.columns, 1)),
            )
            for number in range(count)
        ]

        def register(inside: Ops, k: SSAValue, held: Sequence[SSAValue]) -> Sequence[SSAValue]:
            left: Count = unit.elements
            if not even:
                left = inside.least(inside.minus(depth, k), unit.elements)
            at = inside.divide(k, unit.group)
            rows = [
                words.load(inside, inside.plus(self._packed(inside, chunk, row), at), unit.lanes)
                for row in range(chunk.height)
            ]
            made: list[SSAValue] = []
            for number, place in enumerate(places):
                there = moved(inside, place, factors.axis, k)
                later = moved(inside, there, factors.columns, count)
                factors.fetch(inside, factors.roles.right, later, SECOND, unit.elements)
                right = factors.elements(
                    inside, factors.roles.right, there, factors.axis, unit.elements, left
                )
                right = unit.right(inside, unit.words(inside, right))
                mine = held[number * chunk.height : (number + 1) * chunk.height]
                made += [
                    unit.add(inside, so_far, right, row)
                    for so_far, row in zip(mine, rows, strict=True)
                ]
            return made

        starts = [unit.zeros(ops)] * (count * chunk.height)
        held = ops.loop(0, depth, unit.elements, starts, register)
        by_row = [held[at :: chunk.height] for at in range(chunk.height)]
        for row, mine in enumerate(by_row):
            self._add(ops, chunk, row, column, _summed(ops, mine))

    def _add(self, ops: Ops, chunk: Chunk, row: int, column: SSAValue, made: SSAValue) -> None:
        """Adds sums of lanes of neighbouring columns to what there is."""
        at = self._sum(ops, chunk, row, column)
        so_far = self._words.load(ops, at, lanes_of(made))
        self._words.store(ops, ops.value(arith.AddiOp(so_far, made)), at)


def _summed(ops: Ops, vectors: Sequence[SSAValue]) -> SSAValue:
    """The sum of all lanes of each of some vectors, one beside the other."""
    count = len(vectors)
    while len(vectors) > 1 or lanes_of(vectors[0]) > count:
        alone = [(vectors[0], None)]
        pairs = alone if len(vectors) == 1 else zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [_neighbours(ops, *pair) for pair in pairs]
    return vectors[0]


def _neighbours(ops: Ops, low: SSAValue, high: SSAValue | None) -> SSAValue:
    """The sums of neighbouring lanes of two vectors, or of one."""
    end = lanes_of(low) * (1 if high is None else 2)
    even, odd = (
        ops.shuffled(low, low if high is None else high, range(first, end, 2)) for first in (0, 1)
    )
    return ops.value(arith.AddiOp(even, odd))


def _parts(ops: Ops, count: Count, size: int) -> Count:
    return ops.divide(ops.plus(count, size - 1), size)
