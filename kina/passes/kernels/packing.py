"""Parts of the factors copied to where tiles find them, as F32.

The left factor, where rows lie along k: row after row, an odd number of lines apart, so that no two
of a tile meet in a cache. Elsewhere: for each k the rows of a tile.
The right factor: for each k the columns of a panel; where they lie along k, squares of them are
transposed in registers.

Packing computes what stands behind a factor (a cast, a scale) once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from xdsl.ir import SSAValue

from kina.frozen import frozen
from kina.passes.kernels.factors import VECTOR, Factors, moved, spans
from kina.passes.kernels.function import Places
from kina.passes.kernels.hints import FIRST
from kina.passes.kernels.ops import Count, Ops
from kina.passes.kernels.tiling import LeftBlock
from kina.passes.kernels.zeros import Watch

Held: TypeAlias = Sequence[SSAValue]
"""What a loop carries."""
PieceBody: TypeAlias = Callable[[Ops, Count, Count, Held], Held]
"""What is done with a piece: from which k on, how many of them, and what is carried so far."""
AHEAD = 8
"""Iterations from what is read to what is fetched."""


@frozen
class Room:
    """The memory of a call: where the rows of the left factor lie, a panel, and a tile."""

    memory: SSAValue
    left: Count
    panel: Count
    tile: Count


@frozen
class Packing:
    """Packs blocks of `rows` rows or fewer, tiles of `height`, panels of `width`, `depth` k."""

    factors: Factors
    height: int
    width: int
    rows: int
    depth: int
    watch: Watch | None = None

    @property
    def left(self) -> LeftBlock:
        """How a block of the left factor lies."""
        return LeftBlock(self.factors.left_is_along, self.height, self.rows, self.depth)

    @property
    def panel_size(self) -> int:
        """Elements of a panel."""
        return self.depth * self.width

    @property
    def lanes(self) -> int:
        """Lanes of the vectors that squares are transposed in."""
        return min(VECTOR, self.width // 2)

    # The left factor: `places` is where the block begins, also along k.

    def pack_left(self, ops: Ops, room: Room, places: Places, rows: Count, depth: Count) -> None:
        """A block of rows."""

        def tile(inside: Ops, row: Count, present: Count) -> None:
            held = self.watch.starts(inside, depth) if self.watch else []
            if self.factors.left_is_along:
                end, body = inside.plus(row, present), partial(self._row, room, places, depth)
                held = inside.loop(row, end, 1, held, body)
            else:
                body = partial(self._across_rows, room, places, row, present)
                held = inside.loop(0, depth, 1, held, body)
            if self.watch:
                self.watch.leave(inside, room.memory, row, held)

        spans(ops, 0, rows, self.height, tile)

    def _row(
        self,
        room: Room,
        places: Places,
        depth: Count,
        ops: Ops,
        row: SSAValue,
        held: Held,
    ) -> Held:
        factors = self.factors
        here = factors.at_row(ops, places, row)
        start = ops.plus(room.left, ops.times(row, self.left.row_size))

        def piece(inside: Ops, k: Count, present: Count, held: Held) -> Held:
            there = moved(inside, here, self.factors.axis, k)
            made = factors.elements(
                inside, factors.roles.left, there, factors.axis, VECTOR, present
            )
            factors.fetch(
                inside, factors.roles.left, factors.at_row(inside, there, 1), FIRST, VECTOR
            )
            inside.store(made, room.memory, inside.plus(start, k), None)
            return self.watch.seen_left(inside, made, k, present, held) if self.watch else held

        return self._pieces(ops, depth, VECTOR, held, piece)

    def _across_rows(
        self,
        room: Room,
        places: Places,
        row: Count,
        present: Count,
        ops: Ops,
        k: SSAValue,
        held: Held,
    ) -> Held:
        factors = self.factors
        here = moved(ops, factors.at_row(ops, places, row), factors.axis, k)
        start, across = self.left.tile(ops, room.left, row), self.left.across
        assert factors.rows is not None
        made = factors.elements(ops, factors.roles.left, here, factors.rows, across, present)
        later = moved(ops, here, self.factors.axis, AHEAD)
        factors.fetch(ops, factors.roles.left, later, FIRST, across)
        place = ops.plus(start, ops.times(k, across))
        ops.store(made, room.memory, place, None)
        return self.watch.seen_left(ops, made, k, 1, held) if self.watch else held

    # The right factor: `places` is where the panel begins, also along k.

    def pack_right(
        self, ops: Ops, room: Room, places: Places, present: Count, depth: Count
    ) -> SSAValue | None:
        """A panel; whether all of it is finite, if somebody watches."""
        is_across = self.factors.right_is_across
        held: Held = []
        if self.watch:
            held = self.watch.sight(ops, self.lanes if is_across else self.width)
        if is_across:
            held = self._squares(ops, room, places, present, depth, held)
        else:
            held = ops.loop(0, depth, 1, held, partial(self._columns, room, places, present))
        return self.watch.is_finite(ops, held) if self.watch else None

    def _columns(
        self, room: Room, places: Places, present: Count, ops: Ops, k: SSAValue, held: Held
    ) -> Held:
        factors = self.factors
        here, right = moved(ops, places, factors.axis, k), factors.roles.right
        made = factors.elements(ops, right, here, factors.columns, self.width, present)
        factors.fetch(ops, right, moved(ops, here, factors.axis, AHEAD), FIRST, self.width)
        place = ops.plus(room.panel, ops.times(k, self.width))
        ops.store(made, room.memory, place, None)
        return self.watch.seen_right(ops, made, held) if self.watch else held

    def _squares(
        self, ops: Ops, room: Room, places: Places, present: Count, depth: Count, held: Held
    ) -> Held:
        """By squares of columns and k; columns that are not there may be anything."""
        factors, lanes = self.factors, self.lanes

        def square(inside: Ops, k: Count, here: Count, held: Held) -> Held:
            for first in range(0, self.width, lanes):
                there = moved(inside, places, self.factors.axis, k)
                column = (
                    first
                    if present == self.width
                    else inside.least(first, inside.minus(present, 1))
                )
                there[factors.columns] = inside.plus(there[factors.columns], column)
                left = lanes if present == self.width else inside.minus(present, column)
                for number, made in enumerate(factors.square(inside, there, left, here, lanes)):
                    row = inside.times(inside.plus(k, number), self.width)
                    place = inside.plus(inside.plus(room.panel, row), first)
                    inside.store(made, room.memory, place, None)
                    held = self.watch.seen_right(inside, made, held) if self.watch else held
            return held

        return self._pieces(ops, depth, self.factors.depth_of_square(lanes), held, square)

    def _pieces(self, ops: Ops, depth: Count, size: int, held: Held, body: PieceBody) -> Held:
        """Walks k in pieces, of which the last one may be masked; always in a loop."""
        even = isinstance(depth, int) and depth % size == 0

        def piece(inside: Ops, k: SSAValue, so_far: Held) -> Held:
            return body(
                inside, k, size if even else inside.least(inside.minus(depth, k), size), so_far
            )

        return ops.loop(0, depth, size, held, piece)
