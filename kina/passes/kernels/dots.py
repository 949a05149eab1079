"""Products of small integers in tiles, by dot products: four bytes of k are a word, and one lane.

    for each block of rows:
        for each block of k:
            the block of the left factor is packed as words, with what makes up for its bias
            for each panel of columns:
                the panel of the right factor is packed as words
                for each tile of rows:
                    accumulators from the rows' corrections
                    for each word of k: a row of the panel, times each word of the tile's column
                    with what the blocks of k before have left: stored,
                    or after the last block: what else is computed of each element

Sums are exact modulo 2^32, so no size of a tile or a block can be seen in a result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from kina.frozen import frozen
from kina.passes.kernels.dot_packing import DotPacking, DotRoom
from kina.passes.kernels.dot_rows import DotRows
from kina.passes.kernels.dot_unit import DotUnit, Words, order_of
from kina.passes.kernels.factors import VECTOR, Factors, spans
from kina.passes.kernels.function import KernelFunction, Places
from kina.passes.kernels.hints import FIRST
from kina.passes.kernels.kernel import nest
from kina.passes.kernels.ops import Count, Flag, LoopBody, Ops
from kina.passes.kernels.tiling import each_height, each_of_k, even_part, is_few, later_and_last
from kina.passes.scheduling.contractions import Roles
from kina.passes.scheduling.products import depth_of

HEIGHTS = (8, 4, 2, 1)
"""Rows of the smaller tiles, for what is left of the rows."""
NEAR = 32
"""Words of k before the end of a tile that its results are asked for once more."""
AHEAD = 16
"""How many words of k before they are read the rows of a panel are asked for."""


@frozen
class Part:
    """A panel of a block: where it lies, how many columns and k it has; what came before it."""

    place: Count
    present: Count
    depth: Count
    is_later: Flag
    """Whether a block of k came before."""
    is_last: Flag


class DotTiles:
    """Writes the loops of a kernel with one sum of products of small integers."""

    def __init__(self, function: KernelFunction, roles: Roles) -> None:
        self.function = function
        machine = function.machine
        assert machine.dots is not None
        self._unit = unit = DotUnit(machine.dots, roles.element)
        self._factors = factors = Factors(function, roles)
        self._height, self._width = machine.dots.tile_rows, machine.dots.tile_columns
        deepest = depth_of(roles.element, machine)
        depth = even_part(factors.total, deepest, unit.elements)
        self._depth = _whole_steps(depth, unit.elements)
        self._is_whole = isinstance(factors.total, int) and factors.total <= self._depth
        depth = self._depth // unit.group
        most = max(1, machine.dots.block // (depth + VECTOR) // self._height) * self._height
        rows = even_part(factors.static(factors.rows), most, self._height)
        block = _whole_steps(rows, self._height)
        self._packing = DotPacking(factors, unit, self._height, self._width, block, depth)
        self._few = DotRows(factors, unit, self._packing)
        self._room = self._memory()
        function.strategy = f"tiles of {self._height} rows, words of {unit.group}"
        function.lanes = self._width

    def _memory(self) -> DotRoom:
        packing, plus = self._packing, self.function.entry.plus
        panels = packing.panels * packing.panel_size
        sizes = [packing.left.size, packing.fixes_size, panels]
        tile = self._height * self._width
        size = max(sum(sizes) + tile, self._few.size)
        memory, start = self.function.workspace(f32, -(-size // VECTOR) * VECTOR)
        places = [plus(start, sum(sizes[:at])) for at in range(4)]
        return DotRoom(Words(memory), *places)

    def build(self) -> None:
        """Appends everything to the function."""
        space, factors = self.function.space, self._factors
        inner = (factors.rows, factors.columns)
        outer = [loop for loop in space.parallel if loop not in inner]
        nest(self.function, self.function.ops, outer, {}, self._product)
        factors.hints.finish()

    def _product(self, ops: Ops, places: Places) -> None:
        """By few rows or by tiles, as there are rows."""
        few = partial(self._few.build, places=places, room=self._room)
        few_rows = is_few(ops, self._factors)
        ops.choose(few_rows, few, partial(self._blocks, places=places))

    # Blocks.

    def _blocks(self, ops: Ops, places: Places) -> None:
        factors = self._factors
        assert factors.rows is not None
        first, rows = factors.bounds(factors.rows)

        def block(inside: Ops, row: Count, count: Count) -> None:
            here = {**places, factors.rows or 0: row}
            each_of_k(inside, factors, self._depth, partial(self._block_of_k, here, count))

        spans(ops, first, rows, self._packing.rows, block)

    def _block_of_k(self, places: Places, rows: Count, ops: Ops, k: Count, depth: Count) -> None:
        factors = self._factors
        here = {**places, factors.axis: k}
        self._packing.pack_left(ops, self._room, here, rows, depth)
        first, columns = factors.bounds(factors.columns)
        wide = self._packing.panels * self._width

        def panels(inside: Ops, column: Count, present: Count) -> None:
            there = {**here, factors.columns: column}
            self._packing.pack_right(inside, self._room, there, present, depth)

            def panel(each: Ops, start: Count, count: Count) -> None:
                at = {**there, factors.columns: each.plus(column, start)}
                place = each.plus(self._room.panel, each.times(start, self._packing.depth))
                self._tiles(each, at, rows, self._part(each, place, count, k, depth))

            spans(inside, 0, present, self._width, panel)

        spans(ops, first, columns, wide, panels, even=factors.are_steps(wide))

    def _part(self, ops: Ops, place: Count, present: Count, at: Count, depth: Count) -> Part:
        if self._is_whole:
            return Part(place, present, depth, is_later=False, is_last=True)
        return Part(place, present, depth, *later_and_last(ops, self._factors, at, depth))

    def _tiles(self, ops: Ops, places: Places, rows: Count, part: Part) -> None:
        heights = (self._height, *HEIGHTS)
        each_height(ops, rows, heights, partial(self._tile, places, part))

    # One tile.

    def _tile(self, places: Places, part: Part, ops: Ops, row: SSAValue, height: int) -> None:
        """`row` is that one of its block, where `places` is."""
        left = self._packing.left.tile(ops, self._room.left, row)
        words = ops.divide(ops.plus(part.depth, self._unit.group - 1), self._unit.group)
        multiply = partial(self._multiply, left, part.place)
        here = self._factors.at_row(ops, places, row)
        fetch = partial(self._fetch, places=here, height=height)
        held = _in_two_turns(ops, words, self._starts(ops, row, height), fetch, multiply)
        leave = partial(self._leave_all, places=here, part=part, held=held)
        store = partial(self._store, places=here, held=held)
        ops.choose(self._is_stored(ops, part), store, leave)

    def _is_stored(self, ops: Ops, part: Part) -> Flag:
        """Whether a tile goes from its registers to the result, as a whole."""
        if not (self._is_whole and self._factors.is_plain):
            return False
        if isinstance(part.present, SSAValue):
            return ops.compare("eq", part.present, ops.index(self._width))
        return part.present == self._width

    def _leave_all(self, ops: Ops, places: Places, part: Part, held: Sequence[SSAValue]) -> None:
        """A tile through memory of its own."""
        for number, value in enumerate(held):
            at = ops.plus(self._room.tile, number * self._unit.lanes)
            self._room.words.store(ops, value, at)
        height = len(held) // len(self._registers)
        ops.each(0, height, 1, partial(self._leave, places, part))

    def _store(self, ops: Ops, places: Places, held: Sequence[SSAValue]) -> None:
        """A whole tile that is the result, from its registers."""
        factors, count = self._factors, len(self._registers)
        for number in range(len(held) // count):
            value = ops.joined(held[number * count : (number + 1) * count])
            value = self._unit.narrowed(ops, self._in_order(ops, value), factors.stage.element)
            here = factors.at_row(ops, places, number)
            factors.finish(ops, here, value, self._width, self._width)

    def _in_order(self, ops: Ops, row: SSAValue) -> SSAValue:
        if not self._packing.is_interleaved:
            return row
        return ops.lanes_of(row, order_of(self._width, self._unit.group))

    def _fetch(self, ops: Ops, places: Places, height: int) -> None:
        """Asks for where the results of a tile will be."""
        factors, kernel = self._factors, self.function.kernel
        for stage in kernel.stages:
            if stage.value in kernel.outputs and factors.has_rows(stage):
                sums = factors.kept(ops, stage, places)
                for number in range(height):
                    at = ops.plus(sums.at, ops.times(sums.stride, number))
                    factors.hints.fetch(ops, sums.buffer, at, self._width, FIRST)

    @property
    def _registers(self) -> range:
        """Of a row of a tile: the columns that each begins with."""
        return range(0, self._width, self._unit.lanes)

    def _starts(self, ops: Ops, row: SSAValue, height: int) -> list[SSAValue]:
        unit, starts = self._unit, list[SSAValue]()
        if not unit.is_biased:
            return [unit.zeros(ops)] * (height * len(self._registers))
        first = self._packing.fix(ops, self._room, row)
        for number in range(height):
            fix = self._room.words.load(ops, ops.plus(first, number), 0)
            starts += [ops.spread(fix, unit.lanes)] * len(self._registers)
        return starts

    def _multiply(
        self, left: Count, panel: Count, ops: Ops, k: SSAValue, held: Sequence[SSAValue]
    ) -> Sequence[SSAValue]:
        """One word of k: a row of the panel times each word of a column of the tile."""
        unit, words, (row, step) = self._unit, self._room.words, self._packing.left.steps
        place = ops.plus(panel, ops.times(k, self._width))
        rights = [words.load(ops, ops.plus(place, at), unit.lanes) for at in self._registers]
        later = ops.plus(place, AHEAD * self._width)
        self._factors.hints.fetch(ops, words.memory, later, self._width, FIRST)
        start, made = ops.plus(left, ops.times(k, step)), list[SSAValue]()
        if len(held) // len(rights) == self._height:
            self._fetch_next(ops, left, k)
        count = len(rights)
        for number in range(len(held) // count):
            word = words.load(ops, ops.plus(start, number * row), 0)
            factor = ops.spread(word, unit.lanes)
            mine = held[number * count : (number + 1) * count]
            made += [
                unit.add(ops, so_far, right, factor)
                for so_far, right in zip(mine, rights, strict=True)
            ]
        return made

    def _fetch_next(self, ops: Ops, left: Count, k: SSAValue) -> None:
        """A line for each word: as long as a tile is multiplied, the next one comes."""
        at = ops.plus(ops.plus(left, self._packing.left.tile_size), ops.times(k, VECTOR))
        self._factors.hints.fetch(ops, self._room.words.memory, at, VECTOR, FIRST)

    def _leave(self, places: Places, part: Part, ops: Ops, number: SSAValue) -> None:
        """What is done with a row of a tile that is in memory now."""
        factors, stage = self._factors, self._factors.stage
        at = ops.plus(self._room.tile, ops.times(number, self._width))
        value = self._room.words.load(ops, at, self._width)
        value = self._unit.narrowed(ops, self._in_order(ops, value), stage.element)
        here = factors.at_row(ops, places, number)
        if isinstance(part.is_later, SSAValue):
            kept = partial(self._with_kept, here, part, value)
            (value,) = ops.when(part.is_later, [value], kept)
        finish = partial(
            factors.finish, places=here, value=value, lanes=self._width, present=part.present
        )
        ops.choose(part.is_last, finish, partial(self._keep, here, part, value))

    def _with_kept(
        self, places: Places, part: Part, value: SSAValue, ops: Ops
    ) -> Sequence[SSAValue]:
        """The sums of a row with those of the blocks of k before."""
        assert self._factors.keeper is not None
        sums = self._factors.kept(ops, self._factors.keeper, places)
        mask = ops.mask(part.present, self._width)
        kept = ops.load(sums.buffer, sums.at, self._width, mask)
        return [ops.value(arith.AddiOp(value, kept))]

    def _keep(self, places: Places, part: Part, value: SSAValue, ops: Ops) -> None:
        assert self._factors.keeper is not None
        sums = self._factors.kept(ops, self._factors.keeper, places)
        ops.store(value, sums.buffer, sums.at, ops.mask(part.present, self._width))


def _whole_steps(size: int, step: int) -> int:
    return -(-size // step) * step


def _in_two_turns(
    ops: Ops,
    count: Count,
    starts: Sequence[SSAValue],
    fetch: Callable[[Ops], None],
    body: LoopBody,
) -> list[SSAValue]:
    """Walks the k of a tile, and asks for where its results will be: first, and again near the end.

    By then what was fetched first has come to the second cache and left the nearest one, which
    the panel went through.
    """
    if isinstance(count, int) and count <= 2 * NEAR:
        fetch(ops)
        return ops.loop(0, count, 1, starts, body)
    turn_from = ops.index(ops.minus(count, ops.least(count, NEAR)))

    def turn(inside: Ops, number: SSAValue, held: Sequence[SSAValue]) -> Sequence[SSAValue]:
        fetch(inside)
        is_first = inside.compare("eq", number, inside.index(0))
        low = inside.select(is_first, inside.index(0), turn_from)
        high = inside.select(is_first, turn_from, inside.index(count))
        return inside.loop(low, high, 1, held, body)

    return ops.loop(0, 2, 1, starts, turn)
