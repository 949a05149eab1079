"""A grid of threads: some share the rows of a product, and as many times that share its columns.

What a thread multiplies are rows x columns; what it packs for itself are rows + columns. So it has
about `(rows + PACKING) * (columns + PACKING)` to do, and the grid is the one of which the thread
that has most to do has least.
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from kina.frozen import frozen
from kina.passes.builder import Builder
from kina.passes.scheduling.buffers import ceil_div

PACKING = 16
"""Rows whose products take as long as it takes to pack the columns for them, and the other way."""


@frozen
class Side:
    """A loop that is shared: how many units it has, and how many iterations a whole unit has."""

    units: SSAValue
    grain: int

    def most(self, threads: SSAValue, at: Builder) -> SSAValue:
        """So many threads, or as many as have something to do."""
        return at.value(arith.MinUIOp(threads, self.units))

    def cost(self, threads: SSAValue, at: Builder) -> SSAValue:
        """What the thread that has most of it has to do."""
        units = ceil_div(self.units, threads, at)
        work = at.value(arith.MuliOp(units, at.index(self.grain)))
        return at.value(arith.AddiOp(work, at.index(PACKING)))


@frozen
class Grid:
    """How many threads there are along rows and along columns, one at least."""

    down: SSAValue
    across: SSAValue

    def size(self, at: Builder) -> SSAValue:
        """How many there are together."""
        return at.value(arith.MuliOp(self.down, self.across))

    def cost(self, rows: Side, columns: Side, at: Builder) -> SSAValue:
        """What one thread has to do at most."""
        costs = rows.cost(self.down, at), columns.cost(self.across, at)
        return at.value(arith.MuliOp(*costs))


def grid_of(threads: SSAValue, rows: Side, columns: Side, at: Builder) -> Grid:
    """The best grid of at most so many threads: all along one side, or half of them, or pairs."""
    one, two = at.index(1), at.index(2)
    half = at.value(arith.MaxUIOp(at.value(arith.DivUIOp(threads, two)), one))
    grids = [_grid(threads, across, rows, columns, at) for across in (one, threads, two, half)]
    best, *others = grids
    least = best.cost(rows, columns, at)
    for grid in others:
        cost = grid.cost(rows, columns, at)
        less = at.compare("ult", cost, least)
        least = at.select(less, cost, least)
        down, across = at.select(less, grid.down, best.down), grid.across
        best = Grid(down, at.select(less, across, best.across))
    return best


def _grid(threads: SSAValue, across: SSAValue, rows: Side, columns: Side, at: Builder) -> Grid:
    across = columns.most(at.value(arith.MinUIOp(across, threads)), at)
    return Grid(rows.most(at.value(arith.DivUIOp(threads, across)), at), across)
