"""The two factors of a chain of products, read by steps, and what becomes of each sum."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import FixedBitwidthType, IntegerType, i32
from xdsl.ir import Attribute, SSAValue

from kina.dialects.upstream import lane_op
from kina.frozen import frozen
from kina.passes.kernels.function import KernelFunction, Places
from kina.passes.kernels.hints import FIRST, Hints
from kina.passes.kernels.ops import Count, Ops, bytes_of, lanes_of, vector_of
from kina.passes.kernels.step import Row, Step, start_of
from kina.passes.kernels.transposition import transposed
from kina.passes.scheduling.bounds import Bound, along
from kina.passes.scheduling.contractions import Factor, Roles
from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.graph import UNIT, Access, element_of, memory_of
from kina.passes.scheduling.sums import holds_sums

SpanBody: TypeAlias = Callable[[Ops, Count, Count], None]
"""What is done with some iterations of a loop: the first one, and how many."""
VECTOR = 16
"""Elements that are packed at a time."""


@frozen
class Sums:
    """Where sums lie: a buffer, an element of it, and how many there are from row to row."""

    buffer: SSAValue
    at: Count
    stride: Count


WORD = 4
"""Bytes of an element of a square."""


@frozen
class Narrow:
    """A leaf whose elements are parts of words."""

    argument: SSAValue
    value: SSAValue
    access: Access
    element: Attribute

    @property
    def in_word(self) -> int:
        """How many elements are a word."""
        return WORD // bytes_of(self.element)

    @property
    def bits(self) -> int:
        """Of an element."""
        return 8 * bytes_of(self.element)


def spans(
    ops: Ops, first: Count, count: Count, size: int, body: SpanBody, *, even: bool = False
) -> None:
    """Walks a loop in spans of a size; the last one is shorter unless they are even."""
    if isinstance(count, int) and count <= size:
        body(ops, first, count)
        return
    even = even or (isinstance(count, int) and count % size == 0)
    end = ops.plus(first, count)

    def span(inside: Ops, at: SSAValue) -> None:
        body(inside, at, size if even else inside.least(inside.minus(end, at), size))

    ops.each(first, count, size, span)


def moved(ops: Ops, places: Places, loop: int, distance: Count) -> Places:
    """The places so far on along a loop."""
    return {**places, loop: ops.plus(places[loop], distance)}


class Factors:
    """Reads elements of the factors as F32, and writes what is computed of sums."""

    def __init__(self, function: KernelFunction, roles: Roles) -> None:
        self.function, self.roles, self.stage = function, roles, roles.stage
        self.hints = Hints(function)
        axis = function.space.axis
        assert axis is not None
        self.rows, self.columns, self.axis = roles.rows, roles.columns, axis
        self.total = function.size(function.space.size(axis))
        """How many products a sum has."""
        self.left_is_along = self._lies_along(roles.left, axis)
        """Whether the left factor lies together along k."""
        self.right_is_across = not self._lies_along(roles.right, roles.columns)
        """Whether the right factor lies together along k, and not along columns."""
        self.right_is_across &= self._lies_along(roles.right, axis)
        self._narrow = self._narrow_leaf() if self.right_is_across else None

    def bounds(self, loop: int | None) -> tuple[Count, Count]:
        """The first iteration of a loop and how many a call does; a single one if it is none."""
        return (0, 1) if loop is None else self.function.bounds(loop)

    def are_steps(self, step: int) -> bool:
        """Whether the columns of every call are whole steps, also where threads share them."""
        known, space = self.static(self.columns), self.function.space
        if known is None or known % step:
            return False
        return self.columns not in space.ranged or space.grains.get(self.columns, 1) % step == 0

    def static(self, loop: int | None) -> int | None:
        """The whole size of a loop, None if it is known only at run time."""
        if loop is None:
            return 1
        size = self.function.space.size(loop)
        return None if size.factors else size.known

    def at_row(self, ops: Ops, places: Places, row: Count) -> Places:
        """Some rows further down."""
        if self.rows is None:
            return places
        return moved(ops, places, self.rows, row)

    @property
    def least_bytes(self) -> int:
        """The size of the narrowest elements of the right factor that columns walk."""
        walked = [
            bytes_of(element_of(value))
            for value, access in self._leaves(self.roles.right).values()
            if self.function.stride(value, self.stage, access, self.columns) != 0
        ]
        return min(walked, default=WORD)

    def _leaves(self, factor: Factor) -> dict[SSAValue, tuple[SSAValue, Access]]:
        """What a factor reads, by the arguments of the body."""
        used = {operand for op in factor.ops for operand in op.operands} | {factor.value}
        leaves = zip(self.stage.block.args, self.stage.leaves, strict=False)
        return {argument: leaf for argument, leaf in leaves if argument in used}

    def _narrow_leaf(self) -> Narrow | None:
        """The only leaf of the right factor that walks k, if its elements are parts of a word."""
        walks = self._walking(self.roles.right)
        if len(walks) != 1:
            return None
        ((argument, (value, access)),) = walks.items()
        element = element_of(value)
        known = isinstance(element, FixedBitwidthType) and element.size < WORD
        return Narrow(argument, value, access, element) if known else None

    def _walking(self, factor: Factor) -> dict[SSAValue, tuple[SSAValue, Access]]:
        """What a factor reads another element of for each k."""
        return {
            argument: leaf
            for argument, leaf in self._leaves(factor).items()
            if self.function.stride(leaf[0], self.stage, leaf[1], self.axis) != 0
        }

    def _lies_along(self, factor: Factor, loop: int) -> bool:
        """Whether what a factor reads lies together along a loop."""
        strides = [
            self.function.stride(value, self.stage, access, loop)
            for value, access in self._leaves(factor).values()
        ]
        return all(isinstance(stride, int) and stride in (0, 1) for stride in strides)

    def fetch(
        self,
        ops: Ops,
        factor: Factor,
        places: Places,
        level: int,
        elements: int,
        apart: int = 0,
    ) -> None:
        """Asks for what a factor will read there, or one line of each `apart` bytes."""
        for value, access in self._leaves(factor).values():
            at = self.function.offset(ops, value, self.stage, access, places)
            self.hints.fetch(ops, self.function.buffer(value), at, elements, level, apart)

    # Elements.

    def step(self, ops: Ops, places: Places, along: int, lanes: int, present: Count) -> Step:
        """So many elements along a loop, of which some are present."""
        mask = None if lanes in (0, present) else ops.mask(present, lanes)
        end = None if mask is None else ops.plus(places[along], present)
        return Step(self.function, self.hints, Row(ops, places), along, lanes, mask, end)

    def elements(
        self, ops: Ops, factor: Factor, places: Places, along: int, lanes: int, present: Count
    ) -> SSAValue:
        """Elements of a factor along a loop, in lanes; what is not present is anything."""
        step = self.step(ops, places, along, lanes, present)
        return ops.spread(step.part(self.stage, factor.value, factor.ops), lanes)

    def depth_of_square(self, lanes: int) -> int:
        """How many k a square has."""
        return lanes if self._narrow is None else lanes * self._narrow.in_word

    def square(
        self, ops: Ops, places: Places, columns: Count, present: Count, lanes: int
    ) -> list[SSAValue]:
        """The right factor where it lies along k: for each of some k, its columns in lanes.

        Columns behind the last one are that one again. Elements that are parts of a word are
        transposed word by word, and taken apart afterwards.
        """
        rows: list[SSAValue] = []
        for lane in range(lanes):
            number = lane if columns == lanes else ops.least(lane, ops.minus(columns, 1))
            here = moved(ops, places, self.columns, number)
            rows.append(self._row_of_square(ops, here, present, lanes))
        made = transposed(ops, rows)
        if self._narrow is None:
            return made
        return [
            self._taken_apart(ops, places, columns, word, at, part)
            for at, word in enumerate(made)
            for part in range(self._narrow.in_word)
        ]

    def _row_of_square(self, ops: Ops, places: Places, present: Count, lanes: int) -> SSAValue:
        narrow = self._narrow
        if narrow is None:
            return self.elements(ops, self.roles.right, places, self.axis, lanes, present)
        count = lanes * narrow.in_word
        step = self.step(ops, places, self.axis, count, present)
        row = step.read(self.stage, narrow.value, narrow.access)
        return ops.value(vector.BitcastOp(row, vector_of(i32, lanes)))

    def _taken_apart(
        self, ops: Ops, places: Places, columns: Count, word: SSAValue, at: int, part: int
    ) -> SSAValue:
        """What a part of each word is an element of."""
        narrow, lanes = self._narrow, lanes_of(word)
        assert narrow is not None
        bits = IntegerType(narrow.bits)
        k = at * narrow.in_word + part
        here = moved(ops, places, self.axis, k)
        if part:
            distance = ops.spread(ops.integer(narrow.bits * part, i32), lanes)
            word = ops.value(arith.ShRUIOp(word, distance))
        element = ops.value(lane_op(arith.TruncIOp, [word], vector_of(bits, lanes)))
        if narrow.element != bits:
            element = ops.cast(arith.BitcastOp, element, narrow.element)
        step = self.step(ops, here, self.columns, lanes, columns)
        right = self.roles.right
        made = step.part(self.stage, right.value, right.ops, {narrow.argument: element})
        return ops.spread(made, lanes)

    def to_line(self, ops: Ops, places: Places, lanes: int) -> Count:
        """How many k there are before squares of the right factor are parts of lines.

        0 where not every column begins at the same place of a line, or where k is short.
        """
        walks = self._walking(self.roles.right)
        if len(walks) != 1 or self.static(self.axis) is None:
            return 0
        ((value, access),) = walks.values()
        size, line = bytes_of(element_of(value)), self.function.machine.line
        apart = self.function.stride(value, self.stage, access, self.columns)
        if not isinstance(apart, int) or apart * size % line or apart * size < 8 * line:
            return 0
        at = self.function.offset(ops, value, self.stage, access, places)
        behind = self.hints.past_line(ops, self.function.buffer(value), at)
        before = ops.value(arith.SubiOp(ops.index(line), behind))
        return ops.divide(ops.remainder(before, min(line, lanes * WORD)), size)

    def lies_ready(self, most: int) -> bool:
        """Whether so few rows and k are known that both factors may be read as they lie.

        Nothing is computed of an element, and columns lie together.
        """
        rows, left, right = self.static(self.rows), self.roles.left, self.roles.right
        if rows is None or rows > most or not isinstance(self.total, int) or self.total > most:
            return False
        return not left.ops and not right.ops and self._lies_along(right, self.columns)

    def fetch_results(self, ops: Ops, places: Places, height: int, width: int) -> None:
        """Asks for where the results of a tile will be."""
        kernel = self.function.kernel
        for stage in kernel.stages:
            if stage.value in kernel.outputs and self.has_rows(stage):
                sums = self.kept(ops, stage, places)
                for number in range(height):
                    at = ops.plus(sums.at, ops.times(sums.stride, number))
                    self.hints.fetch(ops, sums.buffer, at, width, FIRST)

    def zero(self, ops: Ops) -> SSAValue:
        """What a sum starts from."""
        zero = start_of(ops, self.stage.node.op.outputs[0])
        assert zero is not None
        return zero

    # What is left out.

    def within(self) -> list[Bound]:
        """Conditions on the loops: elsewhere nobody reads the result."""
        kernel, space = self.function.kernel, self.function.space
        member = kernel.member
        if member is None or not member.within:
            return []
        (value,) = kernel.outputs
        (stage,) = (stage for stage in kernel.stages if stage.value is value)
        mine = kernel.frame.dim_map(stage)
        frame = {place: mine[dim] for place, dim in enumerate(stage.written) if dim != UNIT}
        alone = {place: space.loop(dim) for place, dim in frame.items() if dim != UNIT}
        loops = {p: loop for p, loop in alone.items() if space.merged.count(loop) == 1}
        return sorted(along(member.within, loops), key=lambda bound: (bound.factors, bound.known))

    @property
    def has_runs(self) -> bool:
        """Whether the left factor may hold long runs of zeros along k."""
        member = self.function.kernel.member
        leaves = self._leaves(self.roles.left).values()
        return member is not None and any(memory_of(value) in member.masked for value, _ in leaves)

    # Sums.

    @property
    def is_plain(self) -> bool:
        """Whether nothing is computed of a sum: it is stored, columns together."""
        kernel, stage = self.function.kernel, self.stage
        return kernel.stages == [stage] and self.has_rows(stage)

    @property
    def keeper(self) -> Stage | None:
        """A stored result with room for the sums so far, columns together."""
        kernel = self.function.kernel
        kept = [stage for stage in kernel.stages if stage.value in kernel.outputs]
        rooms = (stage for stage in kept if holds_sums(stage, self.stage) and self.has_rows(stage))
        return next(rooms, None)

    def has_rows(self, stage: Stage) -> bool:
        """Whether the columns of a row of a stored value lie together."""
        return self.function.stride(stage.value, stage, stage.written, self.columns) == 1

    def kept(self, ops: Ops, keeper: Stage, places: Places) -> Sums:
        """Where the sums lie that a result has room for."""
        function, value, access = self.function, keeper.value, keeper.written
        at = function.offset(ops, value, keeper, access, places)
        stride = 0 if self.rows is None else function.stride(value, keeper, access, self.rows)
        return Sums(function.buffer(value), at, stride)

    def finish(self, ops: Ops, places: Places, value: SSAValue, lanes: int, present: Count) -> None:
        """Stores what is computed of some sums of a row."""
        kernel = self.function.kernel
        step = self.step(ops, places, self.columns, lanes, present)
        step.row.made[self.stage.value] = value
        for stage in kernel.stages:
            if stage.value in kernel.outputs:
                made = value if stage is self.stage else step.value(stage)
                step.write(stage, made, stage.value)
