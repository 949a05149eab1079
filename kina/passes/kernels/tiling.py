"""What products in tiles share, of floats and of integers: blocks of rows and of k, heights."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from kina.frozen import frozen
from kina.passes.kernels.factors import VECTOR, Factors, SpanBody, spans
from kina.passes.kernels.ops import Count, Flag, Ops


@frozen
class LeftBlock:
    """Where a packed block of the left factor lies, in elements of four bytes.

    Where rows lie along k: row after row, an odd number of lines apart, so that no two of a tile
    meet in a cache. Elsewhere: for each k the rows of a tile.
    """

    is_along: bool
    height: int
    """Rows of a tile."""
    rows: int
    depth: int

    @property
    def size(self) -> int:
        """Elements of all of it."""
        return self.rows * self.row_size if self.is_along else self.slots * self._slot

    @property
    def row_size(self) -> int:
        """Elements from a row to the next one, where rows lie along k."""
        return (-(-self.depth // VECTOR) | 1) * VECTOR

    @property
    def across(self) -> int:
        """Rows of a tile that lie together, as whole vectors."""
        return -(-self.height // VECTOR) * VECTOR

    @property
    def slots(self) -> int:
        """How many tiles there are."""
        return -(-self.rows // self.height)

    @property
    def _slot(self) -> int:
        return self.depth * self.across

    @property
    def tile_size(self) -> int:
        """Elements of a whole tile."""
        return self.height * self.row_size if self.is_along else self._slot

    @property
    def steps(self) -> tuple[int, int]:
        """Elements from a row of a tile to the next one, and from one to the next of k."""
        return (self.row_size, 1) if self.is_along else (1, self.across)

    def tile(self, ops: Ops, start: Count, row: Count) -> Count:
        """Where a tile begins whose first row is that one of a block which begins at `start`."""
        if self.is_along:
            return ops.plus(start, ops.times(row, self.row_size))
        slot = ops.times(ops.divide(row, self.height), self._slot)
        return ops.plus(ops.plus(start, slot), ops.remainder(row, self.height))


def is_few(ops: Ops, factors: Factors) -> Flag:
    """Whether a product has few rows, which is known when it runs if not before."""
    most = factors.function.machine.few_rows
    known = factors.static(factors.rows)
    if known is not None:
        return known <= max(most, 1)
    _, rows = factors.bounds(factors.rows)
    return ops.compare("ule", ops.index(rows), ops.index(most))


def each_of_k(ops: Ops, factors: Factors, depth: int, body: SpanBody) -> None:
    """The blocks of k that a call does: one at least, for a sum of nothing is stored too."""
    first, count = factors.bounds(factors.axis)
    if isinstance(count, int):
        spans(ops, first, count, depth, body)
        return
    end = ops.plus(first, count)

    def block(inside: Ops, at: SSAValue) -> None:
        body(inside, at, inside.least(inside.minus(end, at), depth))

    ops.each(first, ops.most(count, 1), depth, block)


def later_and_last(ops: Ops, factors: Factors, at: Count, depth: Count) -> tuple[Flag, Flag]:
    """Whether a block of k came before the one at a place, and whether none comes after it."""
    later = ops.compare("ne", ops.index(at), ops.index(0))
    end, total = ops.index(ops.plus(at, depth)), ops.index(factors.total)
    return later, ops.compare("eq", end, total)


def each_height(
    ops: Ops, rows: Count, heights: Sequence[int], body: Callable[[Ops, SSAValue, int], None]
) -> None:
    """Tiles of the first height, then of those that are smaller for what is left of the rows."""
    first: Count = 0
    for height in (heights[0], *(h for h in heights[1:] if h < heights[0])):
        rest = ops.remainder(rows, height)

        def tile(inside: Ops, row: SSAValue, height: int = height) -> None:
            body(inside, row, height)

        ops.each(first, ops.minus(rows, rest), height, tile)
        first, rows = ops.plus(first, ops.minus(rows, rest)), rest


def by_height(
    ops: Ops, rows: Count, heights: Sequence[int], body: Callable[[Ops, int], None]
) -> None:
    """The first height that has room for all rows; the last one is not asked."""
    height, *larger = heights
    fits: Flag = True
    if larger:
        fits = ops.compare("ule", ops.index(rows), ops.index(height))
    ops.choose(
        fits,
        lambda inside: body(inside, height),
        lambda inside: by_height(inside, rows, larger, body),
    )


def even_part(total: Count | None, most: int, step: int) -> int:
    """Parts of a total as even as may be, no longer than `most`; if there are several, of steps."""
    if not isinstance(total, int):
        return most
    parts = max(1, -(-total // most))
    even = -(-total // parts)
    return min(-(-even // step) * step, most) if parts > 1 else even
