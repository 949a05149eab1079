"""Rows along the last axis.

    for each row:
        a reduction:  for each chunk of 16384 elements, 64 accumulators, step by step; the end
                      masked; a halving tree; then the chunk to those before
        a row value:  scalar code
        one walk:     64 elements at a time, every result that is stored per element

Without a reduced axis there is only the last walk, along the last loop. Where there are few rows
of such a kernel, all of it is scalar code.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from kina.order import LANES
from kina.passes.kernels.function import KernelFunction
from kina.passes.kernels.kernel import Strategy
from kina.passes.kernels.ops import Count, Ops, bytes_of
from kina.passes.kernels.reduction import Held, Reduction
from kina.passes.kernels.step import Row, Step
from kina.passes.scheduling.fusion import Stage

StepBody = Callable[[Step, Held], Held]
"""What is done at a step: from what is carried to what is carried on."""


class Rows(Strategy):
    """Vectors run along the last loop, which a row is one walk of."""

    def __init__(self, function: KernelFunction) -> None:
        super().__init__(function)
        walks = function.space.sizes and not function.few
        self._along = function.space.last if walks else None
        width = None if self._along is None else function.bounds(self._along)[1]
        self._lanes = 0 if self._along is None else _lanes_for(width)
        function.strategy, function.lanes = "rows", self._lanes

    @property
    def inner(self) -> int | None:
        """The last loop."""
        return self._along

    def one(self, row: Row) -> Step:
        """Scalar code."""
        return Step(self.function, self.hints, row)

    def part(self, row: Row, reduction: Reduction, first: Count, count: Count) -> Held:
        """By lanes, which are then joined."""

        def body(step: Step, so_far: Held) -> Held:
            new = step.values(reduction.stage, so_far)
            return reduction.keep(step.row.ops, step.mask, new, so_far)

        held = self._walk(
            row, first, count, reduction.starts(row.ops, self._lanes), body, streams=False
        )
        return reduction.over_lanes(row.ops, held, self._lanes)

    def write(self, row: Row, stages: Sequence[Stage], *, streams: bool) -> None:
        """Whole vectors, from aligned places where the result is streamed."""
        first, count = self._bounds()

        def body(step: Step, _: Held) -> Held:
            for stage in stages:
                step.write(stage, step.value(stage), stage.value)
            return ()

        streams = streams and all(self._fills_lines(stage) for stage in stages)
        shift: Count = self._shift(row, stages[0]) if streams and self._lanes else 0
        self._walk(row, first, count, (), body, shift, streams=streams)

    def _fills_lines(self, stage: Stage) -> bool:
        """Whether a result's rows are long, or whole cache lines; run-time sizes may be."""
        machine, (_, count) = self.function.machine, self._bounds()
        if not isinstance(count, int) or count >= machine.long_row:
            return True
        return count * bytes_of(stage.element) % machine.line == 0

    def _shift(self, row: Row, stage: Stage) -> Count:
        """How many elements the row of a result lies after a whole cache line."""
        assert self._along is not None
        first, count = self._bounds()
        access = stage.written
        if self.function.stride(stage.value, stage, access, self._along) != 1:
            return 0
        places = {**row.places, self._along: first}
        start = self.function.offset(row.ops, stage.value, stage, access, places)
        return self.hints.shift(row.ops, stage.value, start, count, self._lanes)

    def _bounds(self) -> tuple[Count, Count]:
        assert self._along is not None
        return self.function.bounds(self._along)

    def _walk(
        self,
        row: Row,
        first: Count,
        count: Count,
        held: Held,
        body: StepBody,
        shift: Count = 0,
        *,
        streams: bool,
    ) -> Held:
        """`body` on whole vectors, then on the masked rest.

        With a shift, all vectors but the first begin so many elements earlier.
        """
        ops, lanes, along = row.ops, self._lanes, self._along
        assert along is not None
        if not lanes:
            return body(Step(self.function, self.hints, row.inside(ops, along, first)), held)

        def at(inside: Ops, place: Count, so_far: Held, left: Count | None = None) -> Held:
            here = row.inside(inside, along, place)
            mask = None if left is None else inside.mask(left, lanes)
            present = lanes if left is None else left
            return body(
                Step(self.function, self.hints, here, along, lanes, mask, present, streams), so_far
            )

        def whole(inside: Ops, place: SSAValue, so_far: Sequence[SSAValue]) -> Held:
            return at(inside, inside.down(place, shift, first), so_far)

        moved = ops.plus(count, shift)
        rest = ops.remainder(moved, lanes)
        last = ops.minus(ops.plus(first, count), rest)
        if isinstance(moved, int) and moved // lanes == 1:
            held = at(ops, first, held)
        elif not isinstance(moved, int) or moved >= lanes:
            held = ops.loop(first, ops.minus(ops.plus(first, moved), rest), lanes, held, whole)
        if isinstance(rest, int):
            return at(ops, last, held, rest) if rest else held
        some = ops.compare("ne", rest, ops.index(0))
        return ops.when(some, held, lambda inside: at(inside, last, held, rest))


def _lanes_for(width: Count | None) -> int:
    """As many as the language's order has, or the next power of two of a smaller width."""
    if not isinstance(width, int):
        return LANES
    return 0 if width == 1 else min(LANES, 1 << (width - 1).bit_length())
