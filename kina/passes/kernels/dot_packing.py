"""Parts of the factors of a dot product copied to where tiles find them, as words.

The left factor: row after row, an odd number of lines apart; where rows lie together, for each word
of k the rows of a tile. Elements behind the last k are zero there, so those of the right
factor may be anything. The right factor: for each word of k the columns of a panel.

Beside the left factor lies what makes up for the bias of the right one, one word for each row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from kina.frozen import frozen
from kina.passes.kernels.dot_unit import DotUnit, Words, interleaved, total
from kina.passes.kernels.factors import Factors, moved, spans
from kina.passes.kernels.function import Places
from kina.passes.kernels.hints import FIRST
from kina.passes.kernels.ops import Count, Ops, lanes_of, vector_of
from kina.passes.kernels.tiling import LeftBlock
from kina.passes.kernels.transposition import transposed
from kina.passes.scheduling.contractions import Factor

AHEAD = 2
"""Iterations from what is read to what is fetched: rows a power of two apart meet in a cache."""
LINES = 2
"""Lines of columns that are packed together."""
Word = Callable[[Ops, SSAValue, Sequence[SSAValue]], Sequence[SSAValue]]


@frozen
class DotRoom:
    """The memory of a call: the left factor's rows, their corrections, a panel, and a tile."""

    words: Words
    left: Count
    fixes: Count
    panel: Count
    tile: Count


@frozen
class DotPacking:
    """Packs blocks of `rows` rows or fewer, tiles of `height`, panels of `width`, `depth` words."""

    factors: Factors
    unit: DotUnit
    height: int
    width: int
    rows: int
    depth: int

    @property
    def left(self) -> LeftBlock:
        """How a block of the left factor lies; an element of it is a word."""
        return LeftBlock(self.factors.left_is_along, self.height, self.rows, self.depth)

    @property
    def fixes_size(self) -> int:
        """Words of the corrections: in whole tiles."""
        return self.left.slots * self.left.across

    @property
    def panels(self) -> int:
        """Panels that are packed together: as many as some whole lines of columns have."""
        if self.factors.right_is_across:
            return 1
        together = LINES * self.factors.function.machine.line
        panels = max(1, together // (self.width * self.factors.least_bytes))
        columns = self.factors.static(self.factors.columns)
        return panels if columns is None else min(panels, -(-columns // self.width))

    @property
    def panel_size(self) -> int:
        """Words of a panel."""
        return self.depth * self.width

    @property
    def is_interleaved(self) -> bool:
        """Whether the columns of a panel lie in the order that shuffles give them."""
        return not self.factors.right_is_across

    def fix(self, ops: Ops, room: DotRoom, row: Count) -> Count:
        """Where the correction of a row of the block lies."""
        slot = ops.times(ops.divide(row, self.height), self.left.across)
        return ops.plus(room.fixes, ops.plus(slot, ops.remainder(row, self.height)))

    # The left factor: `places` is where the block begins, also along k.

    def pack_left(self, ops: Ops, room: DotRoom, places: Places, rows: Count, depth: Count) -> None:
        """A block of rows."""
        if self.factors.left_is_along:

            def row(inside: Ops, number: SSAValue) -> None:
                here = self.factors.at_row(inside, places, number)
                start = inside.plus(room.left, inside.times(number, self.left.row_size))
                fix = self.row(inside, room.words, here, start, depth)
                if fix is not None:
                    room.words.store(inside, fix, self.fix(inside, room, number))

            ops.each(0, rows, 1, row)
            return

        def tile(inside: Ops, row: Count, present: Count) -> None:
            here = self.factors.at_row(inside, places, row)
            self._across_rows(inside, room, here, row, present, depth)

        spans(ops, 0, rows, self.height, tile)

    def row(
        self, ops: Ops, words: Words, places: Places, start: Count, depth: Count
    ) -> SSAValue | None:
        """One row, by registers of words; its correction if there is a bias."""
        factors, unit = self.factors, self.unit

        def piece(inside: Ops, k: SSAValue, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            made = self._words_of_row(inside, places, k, depth)
            there = moved(inside, places, self.factors.axis, k)
            later = factors.at_row(inside, there, 1)
            factors.fetch(inside, factors.roles.left, later, FIRST, unit.elements)
            words.store(inside, made, inside.plus(start, inside.divide(k, unit.group)))
            return [unit.add_left(inside, so_far, made) for so_far in sums]

        starts = [unit.zeros(ops)] if unit.is_biased else []
        sums = ops.loop(0, depth, unit.elements, starts, piece)
        return unit.correction(ops, total(ops, sums[0])) if sums else None

    def _words_of_row(self, ops: Ops, places: Places, k: Count, depth: Count) -> SSAValue:
        """A register of a row; zeros behind the last k."""
        factors, unit = self.factors, self.unit
        there = moved(ops, places, factors.axis, k)
        whole = isinstance(depth, int) and depth % unit.elements == 0
        left = unit.elements if whole else ops.least(ops.minus(depth, k), unit.elements)
        made = factors.elements(ops, factors.roles.left, there, factors.axis, unit.elements, left)
        if not whole:
            zeros = ops.zeros(vector_of(unit.element, unit.elements))
            mask = ops.mask(left, unit.elements)
            made = ops.select(mask, unit.packed(ops, made), zeros)
        return unit.words(ops, made)

    def _across_rows(
        self, ops: Ops, room: DotRoom, places: Places, row: Count, present: Count, depth: Count
    ) -> None:
        """The rows of a tile, where they lie together: word after word of k."""
        factors, unit, across = self.factors, self.unit, self.left.across
        assert factors.rows is not None
        start = self.left.tile(ops, room.left, row)

        def word(inside: Ops, k: SSAValue, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
            rows = self._rows_of_word(
                inside, factors.roles.left, places, factors.rows or 0, across, present, k, depth
            )
            made = self._in_order(inside, rows)
            at = inside.times(inside.divide(k, unit.group), across)
            room.words.store(inside, made, inside.plus(start, at))
            if not sums:
                return ()
            parts = range(0, across, unit.lanes)
            each = [inside.lanes_of(made, range(at, at + unit.lanes)) for at in parts]
            pairs = zip(sums, each, strict=True)
            return [unit.add_left(inside, so_far, part) for so_far, part in pairs]

        starts = [unit.zeros(ops)] * (across // unit.lanes) if unit.is_biased else []
        sums = ops.loop(0, depth, unit.group, starts, word)
        for number, made in enumerate(sums):
            at = ops.plus(self.fix(ops, room, row), number * unit.lanes)
            room.words.store(ops, unit.correction(ops, made), at)

    def _rows_of_word(
        self,
        ops: Ops,
        factor: Factor,
        places: Places,
        along: int,
        lanes: int,
        present: Count,
        k: Count,
        depth: Count,
    ) -> list[SSAValue]:
        """For each k of a word some elements along another loop, in lanes; zeros behind the end.

        Those of the right factor are the last ones again, since they may be anything.
        """
        made: list[SSAValue] = []
        factors, unit = self.factors, self.unit
        even = isinstance(depth, int) and depth % unit.group == 0
        for number in range(unit.group):
            at = ops.plus(k, number)
            if not even and number:
                at = ops.least(at, ops.minus(depth, 1))
            there = moved(ops, places, self.factors.axis, at)
            row = factors.elements(ops, factor, there, along, lanes, present)
            later = moved(ops, there, self.factors.axis, AHEAD * unit.group)
            factors.fetch(ops, factor, later, FIRST, lanes)
            row = unit.packed(ops, row)
            if not even and number and factor is factors.roles.left:
                inside = ops.compare("ult", ops.index(ops.plus(k, number)), ops.index(depth))
                row = ops.select(inside, row, ops.zeros(vector_of(unit.element, lanes)))
            made.append(row)
        return made

    def _in_order(self, ops: Ops, rows: Sequence[SSAValue]) -> SSAValue:
        """Words of some rows, in the order of their lanes."""
        lanes, group = lanes_of(rows[0]), len(rows)
        whole = ops.joined(rows)
        order = [number * lanes + lane for lane in range(lanes) for number in range(group)]
        return self.unit.words(ops, ops.lanes_of(whole, order))

    # The right factor: `places` is where the panel begins, also along k.

    def pack_right(
        self, ops: Ops, room: DotRoom, places: Places, present: Count, depth: Count
    ) -> None:
        """The panels of some columns."""
        if self.factors.right_is_across:
            self._squares(ops, room, places, present, depth)
            return

        def word(inside: Ops, k: SSAValue) -> None:
            at = inside.times(inside.divide(k, self.unit.group), self.width)
            for number in range(self.panels):
                here = inside.plus(inside.plus(room.panel, number * self.panel_size), at)
                self._interleaved(
                    inside, room, places, number * self.width, present, k, depth, here
                )

        ops.each(0, depth, self.unit.group, word)

    def _interleaved(
        self,
        ops: Ops,
        room: DotRoom,
        places: Places,
        first: int,
        present: Count,
        k: SSAValue,
        depth: Count,
        place: Count,
    ) -> None:
        """A word of k of the columns of one panel, the first of which is so far on."""
        factors, right = self.factors, self.factors.roles.right
        here = {**places, factors.columns: ops.plus(places[factors.columns], first)}
        left = self.width if present == self.panels * self.width else ops.minus(present, first)
        rows = self._rows_of_word(ops, right, here, factors.columns, self.width, left, k, depth)
        for number, made in enumerate(interleaved(ops, rows)):
            at = ops.plus(place, number * lanes_of(made))
            room.words.store(ops, self.unit.right(ops, made), at)

    def _squares(
        self, ops: Ops, room: DotRoom, places: Places, present: Count, depth: Count
    ) -> None:
        """Where columns lie along k: squares of words, transposed."""
        unit = self.unit
        even = isinstance(depth, int) and depth % unit.elements == 0

        def square(inside: Ops, k: SSAValue) -> None:
            left: Count = unit.elements
            if not even:
                left = inside.least(inside.minus(depth, k), unit.elements)
            at = inside.times(inside.divide(k, unit.group), self.width)
            for first in range(0, self.width, unit.lanes):
                rows = [
                    self._column(inside, places, inside.plus(first, lane), present, k, left)
                    for lane in range(unit.lanes)
                ]
                place = inside.plus(room.panel, at)
                for number, made in enumerate(transposed(inside, rows)):
                    here = inside.plus(place, number * self.width + first)
                    room.words.store(inside, made, here)

        ops.each(0, depth, unit.elements, square)

    def _column(
        self, ops: Ops, places: Places, column: Count, present: Count, k: Count, left: Count
    ) -> SSAValue:
        """Words of one column, along k; the last column again for those behind it."""
        factors, unit = self.factors, self.unit
        if present != self.width:
            column = ops.least(column, ops.minus(present, 1))
        there = moved(ops, places, self.factors.axis, k)
        there[factors.columns] = ops.plus(there[factors.columns], column)
        made = factors.elements(ops, factors.roles.right, there, factors.axis, unit.elements, left)
        return unit.right(ops, unit.words(ops, made))
