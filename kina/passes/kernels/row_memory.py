"""The memory of a product of a few rows: their sums, and what is packed of the left factor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.ir import SSAValue

from kina.frozen import frozen
from kina.passes.kernels.factors import VECTOR, Factors
from kina.passes.kernels.function import Places
from kina.passes.kernels.ops import Count, Ops
from kina.passes.kernels.packing import Room

ROOM = 8192
"""Elements of sums, and of the left factor, that stay in the nearest cache."""


@frozen
class Chunk:
    """Some rows, and how many columns from `places` on; `stride` is from row to row of the sums."""

    places: Places
    rows: Count
    height: int
    columns: Count
    stride: int
    depth: int
    """From row to row of what is packed of the left factor."""

    def at(self, places: Places) -> Chunk:
        """The same from other places on."""
        return replace(self, places=places)


class RowMemory:
    """Where the sums of `most` rows lie, then the left factor's rows, then what else is needed."""

    def __init__(self, factors: Factors, most: int, wide: int) -> None:
        self.factors = factors
        columns = factors.static(factors.columns)
        self.sums = room_of(columns, most, wide)
        self.left = room_of(factors.static(factors.axis), most, VECTOR)
        self.room: Room | None = None
        """That of the call."""

    @property
    def size(self) -> int:
        """Elements of both."""
        return self.sums + self.left

    @property
    def memory(self) -> SSAValue:
        """The buffer."""
        assert self.room is not None
        return self.room.memory

    def _at(self, ops: Ops, place: Count) -> Count:
        assert self.room is not None
        return ops.plus(self.room.left, place)

    def scratch(self, ops: Ops) -> Count:
        """Where what else is needed begins."""
        return self._at(ops, self.size)

    def sum(self, ops: Ops, chunk: Chunk, row: Count, column: Count) -> Count:
        """The place of a sum."""
        return ops.plus(self._at(ops, ops.times(row, chunk.stride)), column)

    def packed(self, ops: Ops, chunk: Chunk, row: Count, k: Count) -> Count:
        """That of an element of the left factor: row after row where rows lie along k."""
        steps = (chunk.depth, 1) if self.factors.left_is_along else (1, chunk.height)
        start = self._at(ops, self.sums)
        return ops.plus(ops.plus(start, ops.times(row, steps[0])), ops.times(k, steps[1]))

    def load(self, ops: Ops, chunk: Chunk, column: Count, lanes: int) -> list[SSAValue]:
        """The sums of some columns, of each row."""
        return [
            ops.load(self.memory, self.sum(ops, chunk, row, column), lanes, None)
            for row in range(chunk.height)
        ]

    def store(self, ops: Ops, chunk: Chunk, column: Count, held: Sequence[SSAValue]) -> None:
        """Writes them."""
        for row, value in enumerate(held):
            ops.store(value, self.memory, self.sum(ops, chunk, row, column), None)

    def factor(self, ops: Ops, chunk: Chunk, row: int, k: Count, lanes: int) -> SSAValue:
        """An element of the left factor in all lanes."""
        element = ops.load(self.memory, self.packed(ops, chunk, row, k), 0, None)
        return ops.spread(element, lanes)


def room_of(size: int | None, rows: int, part: int) -> int:
    """Elements for so many rows of a size, in whole parts, that stay in the nearest cache."""
    if size is None:
        return ROOM
    return min(ROOM, rows * -(-size // part) * part)
