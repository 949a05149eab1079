"""Matrix products in tiles: rows x columns of accumulators stay in registers while k runs.

    for each block of rows:
        for each block of k:
            the block of the left factor is packed
            for each panel of columns:
                the panel of the right factor is packed
                for each tile of rows:
                    accumulators from +0.0, or from where the last block of k left them
                    for each k: a row of the panel, times each element of the tile's column
                    after the last block: what else is computed of each element

An element's chain goes on from block to block through memory, which rounds nothing, so no size of
a tile or a block can be seen in a result. Few rows are done in another way (`few_rows.py`), which
is chosen when the code runs if it is not known before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from kina.frozen import frozen
from kina.passes.kernels.factors import VECTOR, Factors, Sums, moved, spans
from kina.passes.kernels.few_rows import FewRows
from kina.passes.kernels.function import KernelFunction, Places
from kina.passes.kernels.hints import FIRST
from kina.passes.kernels.kernel import nest
from kina.passes.kernels.ops import Count, Flag, Ops
from kina.passes.kernels.packing import Packing, Room
from kina.passes.kernels.tiling import each_height, each_of_k, even_part, is_few, later_and_last
from kina.passes.kernels.zeros import PLACES, Passing, Watch
from kina.passes.scheduling.contractions import Roles

HEIGHTS = (4, 2, 1)
"""Rows of the smaller tiles, for what is left of the rows."""
SMALL = 64
"""Rows and k up to which factors are read as they lie: packing would take longer than it gains."""
AHEAD = 16
"""How many k before they are read the rows of a panel are asked for."""


@frozen
class Part:
    """A panel of a block: how many columns it has, whether that is not all, and which k."""

    present: Count
    is_edge: Flag
    depth: Count
    is_later: Flag
    """Whether a block of k came before."""
    is_last: Flag
    finite: SSAValue | None = None
    """Whether all of it is, where runs of zeros are passed over."""


class Contraction:
    """Writes the loops of a kernel with one chain of products."""

    def __init__(self, function: KernelFunction, roles: Roles) -> None:
        self.function = function
        self._factors = factors = Factors(function, roles)
        machine = function.machine
        self._height, self._width = machine.tile_rows, machine.tile_columns
        self._keeper = factors.keeper
        self._depth = even_part(factors.total, machine.tile_depth, VECTOR)
        known = isinstance(factors.total, int) and factors.total <= self._depth
        self._whole = known and not function.space.carries
        self._even = factors.are_steps(self._width)
        rows = factors.static(factors.rows)
        most = machine.tiles * self._height
        self._block = most if rows is None else min(most, -(-rows // self._height) * self._height)
        part = max(VECTOR, factors.depth_of_square(min(VECTOR, self._width // 2)))
        depth = -(-self._depth // part) * part
        self._packing = Packing(factors, self._height, self._width, self._block, depth)
        whole = self._whole and (self._even or machine.masks) and not factors.has_runs
        self._as_it_lies = whole and factors.lies_ready(SMALL)
        self._few = FewRows(factors)
        self._room = self._memory()
        self._within = factors.within()
        function.strategy, function.lanes = f"tiles of {self._height} rows", self._width
        function.left_out += ["tiles of which a mask keeps everything out"] if self._within else []
        function.left_out += ["zeros at both ends of the axis"] if factors.has_runs else []

    def _memory(self) -> Room:
        left, panel = self._packing.left.size, self._packing.panel_size
        left, panel = (0, 0) if self._as_it_lies else (left, panel)
        tile = self._height * self._width
        tiles = -(-self._block // self._height)
        places = PLACES * tiles if self._factors.has_runs else 0
        size = max(left + panel + tile + places, self._few.size)
        memory, start = self.function.workspace(f32, -(-size // VECTOR) * VECTOR)
        plus = self.function.entry.plus
        if places:
            watch = Watch(self._height, plus(start, left + panel + tile))
            self._packing = replace(self._packing, watch=watch)
        return Room(memory, start, plus(start, left), plus(start, left + panel))

    def build(self) -> None:
        """Appends everything to the function."""
        space, factors = self.function.space, self._factors
        inner = (factors.rows, factors.columns)
        outer = [loop for loop in space.parallel if loop not in inner]
        nest(self.function, self.function.ops, outer, {}, self._product)
        factors.hints.finish()

    def _product(self, ops: Ops, places: Places) -> None:
        """By few rows or by tiles, as there are rows."""
        # Only tiles go on with what is there.
        few_rows = not self.function.space.carries and is_few(ops, self._factors)
        few = partial(self._few.build, places=places, memory=self._room)
        ops.choose(few_rows, few, partial(self._blocks, places=places))

    # Blocks.

    def _blocks(self, ops: Ops, places: Places) -> None:
        factors = self._factors
        assert factors.rows is not None
        first, rows = factors.bounds(factors.rows)

        def block(inside: Ops, row: Count, count: Count) -> None:
            here = {**places, factors.rows or 0: row}
            each_of_k(inside, factors, self._depth, partial(self._block_of_k, here, count))

        spans(ops, first, rows, self._block, block)

    def _block_of_k(self, places: Places, rows: Count, ops: Ops, at: Count, depth: Count) -> None:
        factors = self._factors
        here = {**places, factors.axis: at}
        if not self._as_it_lies:
            self._packing.pack_left(ops, self._room, here, rows, depth)
        first, columns = factors.bounds(factors.columns)

        def panel(inside: Ops, column: Count, present: Count) -> None:
            there = {**here, factors.columns: column}
            read = self._is_read(inside, there, rows)
            inside.choose(read, partial(self._panel, there, rows, present, at, depth))

        spans(ops, first, columns, self._width, panel, even=self._even)

    def _panel(
        self, places: Places, rows: Count, present: Count, at: Count, depth: Count, ops: Ops
    ) -> None:
        finite = None
        if not self._as_it_lies:
            finite = self._packing.pack_right(ops, self._room, places, present, depth)
        part = replace(self._part(ops, present, at, depth), finite=finite)
        self._tiles(ops, places, rows, part)

    def _is_read(self, ops: Ops, places: Places, rows: Count) -> Flag:
        """Whether somebody may read of some rows of a panel that begin at a place."""
        read: Flag = True
        for bound in self._within:
            total: Count = bound.known
            for loop, factor in bound.factors:
                at = places[loop]
                if factor > 0 and loop == self._factors.rows:
                    at = ops.plus(at, ops.minus(rows, 1))
                if factor > 0 and loop == self._factors.columns:
                    at = ops.plus(at, self._width - 1)
                total = ops.plus(total, ops.times(at, factor))
            here = ops.compare("sge", ops.index(total), ops.index(0))
            read = here if read is True else ops.select(here, read, here)
        return read

    def _part(self, ops: Ops, present: Count, at: Count, depth: Count) -> Part:
        is_edge: Flag = not self._even
        if isinstance(present, SSAValue):
            is_edge = ops.compare("ne", present, ops.index(self._width))
        if self._whole:
            return Part(present, is_edge, depth, is_later=False, is_last=True)
        return Part(present, is_edge, depth, *later_and_last(ops, self._factors, at, depth))

    def _tiles(self, ops: Ops, places: Places, rows: Count, part: Part) -> None:
        heights = (self._height, *HEIGHTS)
        each_height(ops, rows, heights, partial(self._read_tile, places, part))

    # One tile.

    def _read_tile(self, places: Places, part: Part, ops: Ops, row: SSAValue, height: int) -> None:
        read: Flag = True
        if self._within:
            read = self._is_read(ops, self._factors.at_row(ops, places, row), height)
        ops.choose(read, lambda inside: self._tile(inside, places, row, part, height))

    def _tile(self, ops: Ops, places: Places, row: SSAValue, part: Part, height: int) -> None:
        """`row` is that one of its block, where `places` is."""
        here = self._factors.at_row(ops, places, row)
        sums = self._sums(ops, here, part)
        starts = self._starts(ops, here, sums, part, height)
        multiply = partial(self._multiply, self._packing.left.tile(ops, self._room.left, row))
        if self._as_it_lies:
            multiply = partial(self._multiply_there, here, part.present)
            self._factors.fetch_results(ops, here, height, self._width)
        if self._packing.watch and part.finite is not None:
            passing = Passing(self._packing.watch, self._room.memory, part.finite, part.depth, row)
            held = passing.run(ops, starts, multiply)
        else:
            held = ops.loop(0, part.depth, 1, starts, multiply)
        for number, value in enumerate(held):
            ops.store(value, sums.buffer, _row(ops, sums, number), None)
        self._leave(ops, here, sums, part, height)

    def _sums(self, ops: Ops, places: Places, part: Part) -> Sums:
        """Where a tile leaves its sums: in a result, or in memory of its own at the edge."""
        own = Sums(self._room.memory, self._room.tile, self._width)
        if self._keeper is None or part.is_edge is True:
            return own
        if self._whole and not self._factors.is_plain:
            return own
        kept = self._factors.kept(ops, self._keeper, places)
        if part.is_edge is False:
            return kept
        edge = part.is_edge
        assert isinstance(edge, SSAValue)
        return Sums(
            ops.value(arith.SelectOp(edge, own.buffer, kept.buffer)),
            ops.select(edge, ops.index(own.at), ops.index(kept.at)),
            ops.select(edge, ops.index(own.stride), ops.index(kept.stride)),
        )

    def _starts(
        self, ops: Ops, places: Places, sums: Sums, part: Part, height: int
    ) -> list[SSAValue]:
        """The accumulators: zeros, or what the last block of k left."""
        starts = [ops.spread(self._factors.zero(ops), self._width)] * height
        if not isinstance(part.is_later, SSAValue):
            return starts

        def kept(inside: Ops) -> list[SSAValue]:
            copied = partial(self._copied, places=places, sums=sums, part=part, height=height)
            inside.choose(part.is_edge, copied)
            self._fetch(inside, places, height)
            rows = [_row(inside, sums, number) for number in range(height)]
            return [inside.load(sums.buffer, at, self._width, None) for at in rows]

        return ops.when(part.is_later, starts, kept)

    def _fetch(self, ops: Ops, places: Places, height: int) -> None:
        """The sums of the tile that comes next."""
        if self._keeper is None:
            return
        kept = self._factors.kept(ops, self._keeper, places)
        for number in range(height, 2 * height):
            at = _row(ops, kept, number)
            self._factors.hints.fetch(ops, kept.buffer, at, self._width, FIRST)

    def _multiply(
        self, left: Count, ops: Ops, k: SSAValue, held: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """One k of a tile: a row of the panel times each element of a column of the tile."""
        memory, (row, step) = self._room.memory, self._packing.left.steps
        place = ops.plus(self._room.panel, ops.times(k, self._width))
        panel = ops.load(memory, place, self._width, None)
        later = ops.plus(place, AHEAD * self._width)
        self._factors.hints.fetch(ops, memory, later, self._width, FIRST)
        start = ops.plus(left, ops.times(k, step))
        made: list[SSAValue] = []
        for number, so_far in enumerate(held):
            element = ops.load(memory, ops.plus(start, number * row), 0, None)
            factor = ops.spread(element, self._width)
            made.append(ops.value(math.FmaOp(factor, panel, so_far)))
        return made

    def _multiply_there(
        self, places: Places, present: Count, ops: Ops, k: SSAValue, held: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """One k of a tile, of factors as they lie."""
        factors, made = self._factors, list[SSAValue]()
        here = moved(ops, places, factors.axis, k)
        right, left = factors.roles.right, factors.roles.left
        panel = factors.elements(ops, right, here, factors.columns, self._width, present)
        for number, so_far in enumerate(held):
            there = factors.at_row(ops, here, number)
            element = factors.elements(ops, left, there, factors.axis, 0, 0)
            factor = ops.spread(element, self._width)
            made.append(ops.value(math.FmaOp(factor, panel, so_far)))
        return made

    def _leave(self, ops: Ops, places: Places, sums: Sums, part: Part, height: int) -> None:
        """What is done with a tile that is in memory now."""
        each = {"places": places, "sums": sums, "part": part, "height": height}
        if self._factors.is_plain:
            ops.choose(part.is_edge, partial(self._finished, **each))
            return

        def unfinished(inside: Ops) -> None:
            inside.choose(part.is_edge, partial(self._kept, **each))

        def finished(inside: Ops) -> None:
            inside.choose(
                part.is_edge,
                partial(self._finished, **each),
                partial(self._finished, **{**each, "present": self._width}),
            )

        ops.choose(part.is_last, finished, unfinished)

    def _finished(
        self,
        ops: Ops,
        places: Places,
        sums: Sums,
        part: Part,
        height: int,
        present: Count | None = None,
    ) -> None:
        """Stores what is computed of each sum."""

        def row(inside: Ops, number: SSAValue) -> None:
            value = inside.load(sums.buffer, _row(inside, sums, number), self._width, None)
            here = self._factors.at_row(inside, places, number)
            self._factors.finish(
                inside, here, value, self._width, part.present if present is None else present
            )

        ops.each(0, height, 1, row)

    def _kept(self, ops: Ops, places: Places, sums: Sums, part: Part, height: int) -> None:
        """Moves the sums of an edge to where the next block of k finds them."""
        self._move(ops, sums, self._kept_at(ops, places), part, height)

    def _copied(self, ops: Ops, places: Places, sums: Sums, part: Part, height: int) -> None:
        self._move(ops, self._kept_at(ops, places), sums, part, height)

    def _kept_at(self, ops: Ops, places: Places) -> Sums:
        assert self._keeper is not None
        return self._factors.kept(ops, self._keeper, places)

    def _move(self, ops: Ops, source: Sums, target: Sums, part: Part, height: int) -> None:
        """The columns of an edge, row by row."""
        mask = ops.mask(part.present, self._width)

        def row(inside: Ops, number: SSAValue) -> None:
            value = inside.load(source.buffer, _row(inside, source, number), self._width, mask)
            inside.store(value, target.buffer, _row(inside, target, number), mask)

        ops.each(0, height, 1, row)


def _row(ops: Ops, sums: Sums, number: Count) -> Count:
    """Where the sums of a row begin."""
    return ops.plus(sums.at, ops.times(sums.stride, number))
