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

from collections.abc import Sequence
from dataclasses import replace

from kina.order import LANES
from kina.passes.kernels.contest import Contest
from kina.passes.kernels.function import KernelFunction
from kina.passes.kernels.kernel import Strategy
from kina.passes.kernels.ops import Count, bytes_of
from kina.passes.kernels.reduction import Reduction
from kina.passes.kernels.step import Row, Step
from kina.passes.kernels.walk import Body, Held, StepBody, Walk
from kina.passes.scheduling.fusion import Stage


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
        if self._lanes and reduction.stage.node.is_contest:
            return self._contest(row, reduction, first, count)

        def at(step: Step, so_far: Held) -> Held:
            return step.values(reduction.stage, so_far)

        body = self._body(row, [reduction.stage], at)
        starts = reduction.starts(row.ops, 0)
        held = self._walk(row, first, count, self._lanes).run(starts, body)
        return reduction.over_lanes(row.ops, held, self._lanes)

    def _contest(self, row: Row, reduction: Reduction, first: Count, count: Count) -> Held:
        assert self._along is not None
        # Which lanes there are changes nothing here.
        machine = self.function.machine
        lanes, counts = min(self._lanes, machine.contest), machine.lanes_count
        contest = Contest(reduction, self._along, lanes, first, count, lanes_count=counts)
        body = self._body(row, [reduction.stage], contest.step)
        walk = self._walk(row, first, count, lanes)
        held = walk.run(contest.starts(row.ops), replace(body, piece=min(body.piece, lanes)))
        return contest.winner(row.ops, held)

    def write(self, row: Row, stages: Sequence[Stage], *, streams: bool) -> None:
        """Whole vectors, from aligned places where the result is streamed."""
        first, count = self._bounds()

        def at(step: Step, _: Held) -> Held:
            for stage in stages:
                step.write(stage, step.value(stage), stage.value)
            return ()

        body = self._body(row, stages, at)
        line = self.function.machine.line // min(bytes_of(stage.element) for stage in stages)
        lanes = min(self._lanes, max(body.piece, line))
        streams = streams and all(self._fills_lines(stage) for stage in stages)
        shift: Count = self._shift(row, stages[0], lanes) if streams and lanes else 0
        walk = self._walk(row, first, count, lanes, shift, streams=streams)
        walk.run((), replace(body, piece=lanes))

    def _body(self, row: Row, stages: Sequence[Stage], of_step: StepBody) -> Body:
        """How the code of what some stages compute of an element is laid out."""
        machine, needed = self.function.machine, self._needed(row, stages)
        operations = sum(stage.operations for stage in needed)
        together = not any(stage.captured for stage in needed)
        whole, is_short = operations <= machine.whole_body, operations <= machine.short_body
        return Body(
            of_step,
            once=together and not is_short,
            once_if_unknown=together and not (is_short and machine.masks),
            piece=self._lanes if whole else min(self._lanes, machine.piece),
        )

    def _needed(self, row: Row, stages: Sequence[Stage]) -> list[Stage]:
        """The stages whose bodies a walk repeats."""
        needed: dict[Stage, None] = {}
        pending = list(stages)
        while pending:
            stage = pending.pop()
            if stage not in needed:
                needed[stage] = None
                read = [self.function.stage_of(v) for v, _ in stage.leaves if not row.has(v)]
                pending += [inner for inner in read if inner is not None]
        return list(needed)

    def _fills_lines(self, stage: Stage) -> bool:
        """Whether a result's rows are long, or whole cache lines; run-time sizes may be."""
        machine, (_, count) = self.function.machine, self._bounds()
        if not isinstance(count, int) or count >= machine.long_row:
            return True
        return count * bytes_of(stage.element) % machine.line == 0

    def _shift(self, row: Row, stage: Stage, lanes: int) -> Count:
        """How many elements the row of a result lies after a whole cache line."""
        assert self._along is not None
        first, count = self._bounds()
        access = stage.written
        if self.function.stride(stage.value, stage, access, self._along) != 1:
            return 0
        places = {**row.places, self._along: first}
        start = self.function.offset(row.ops, stage.value, stage, access, places)
        return self.hints.shift(row.ops, stage.value, start, count, lanes)

    def _bounds(self) -> tuple[Count, Count]:
        assert self._along is not None
        return self.function.bounds(self._along)

    def _walk(
        self,
        row: Row,
        first: Count,
        count: Count,
        lanes: int,
        shift: Count = 0,
        *,
        streams: bool = False,
    ) -> Walk:
        assert self._along is not None
        return Walk(
            self.function, self.hints, row, self._along, lanes, first, count, shift, streams
        )


def _lanes_for(width: Count | None) -> int:
    """As many as the language's order has, or the next power of two of a smaller width."""
    if not isinstance(width, int):
        return LANES
    return 0 if width == 1 else min(LANES, 1 << (width - 1).bit_length())
