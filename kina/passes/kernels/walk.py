"""One walk of a row: steps of whole vectors, and the end of the row.

    short bodies                          long bodies
    for each step: the body               for each part, the whole steps and the end:
    the end: the body, masked                 (the end is copied to memory of a whole step)
                                              for each step of the part:
                                                  for each piece that fits the registers:
                                                      the body
                                              (what the end stored is copied back)

A long body is written once: code is what processors must load and compilers must translate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from xdsl.ir import SSAValue

from kina.frozen import frozen
from kina.passes.kernels.function import KernelFunction
from kina.passes.kernels.hints import Hints
from kina.passes.kernels.ops import Count, Flag, Ops
from kina.passes.kernels.pads import Pads, choice
from kina.passes.kernels.step import Row, Step

Held = Sequence[SSAValue]
"""What is carried: accumulators, or a contest's best value and its index."""
StepBody = Callable[[Step, Held], Held]
"""What is done at a step: from what is carried to what is carried on."""


@frozen
class Body:
    """What is done with the elements of a step, and how its code is laid out."""

    of_step: StepBody
    once: bool
    """Whether its code is written once, for the end of a row as well."""
    once_if_unknown: bool
    """Whether it is, where nobody knows how many elements the end has."""
    piece: int
    """Elements that it does at a time."""


@dataclass
class Walk:
    """`count` elements from `first` along a loop, `lanes` a step.

    With a `shift`, all steps but the first begin so many elements earlier.
    """

    function: KernelFunction
    hints: Hints
    row: Row
    along: int
    lanes: int
    first: Count
    count: Count
    shift: Count = 0
    streams: bool = False

    def __post_init__(self) -> None:
        if not self.lanes:
            return
        ops = self.row.ops
        self._moved = ops.plus(self.count, self.shift)
        self._rest = ops.remainder(self._moved, self.lanes)
        self._stop = ops.plus(self.first, self.count)
        self._last = ops.minus(self._stop, self._rest)
        self._end = ops.minus(ops.plus(self.first, self._moved), self._rest)
        """Where whole steps end, counted without the shift."""

    def run(self, starts: Held, body: Body) -> Held:
        """What is carried in the end: a vector for each start, or memory if pieces need it."""
        if not self.lanes:
            here = self.row.inside(self.row.ops, self.along, self.first)
            return body.of_step(Step(self.function, self.hints, here), starts)
        if body.piece < self.lanes:
            return self._in_pieces(starts, body)
        held = [self.row.ops.spread(start, self.lanes) for start in starts]
        once = body.once if isinstance(self._rest, int) else body.once_if_unknown
        return self._parts(held, body) if once else self._apart(held, body)

    # Short bodies.

    def _apart(self, held: Held, body: Body) -> Held:
        ops, moved, rest = self.row.ops, self._moved, self._rest

        def whole(inside: Ops, place: SSAValue, so_far: Held) -> Held:
            return self._at(inside, inside.down(place, self.shift, self.first), so_far, body)

        if isinstance(moved, int) and moved // self.lanes == 1:
            held = self._at(ops, self.first, held, body)
        elif not isinstance(moved, int) or moved >= self.lanes:
            held = ops.loop(self.first, self._end, self.lanes, held, whole)
        if isinstance(rest, int):
            return self._masked(ops, rest, held, body) if rest else held
        some = ops.compare("ne", rest, ops.index(0))
        return ops.when(some, held, lambda inside: self._masked(inside, rest, held, body))

    def _at(self, ops: Ops, place: Count, held: Held, body: Body) -> Held:
        here = self.row.inside(ops, self.along, place)
        step = Step(self.function, self.hints, here, self.along, self.lanes, streams=self.streams)
        return body.of_step(step, held)

    def _masked(self, ops: Ops, rest: Count, held: Held, body: Body) -> Held:
        here = self.row.inside(ops, self.along, self._last)
        mask = ops.mask(rest, self.lanes)
        known = rest if isinstance(rest, int) and not self.function.machine.masks else 0
        step = Step(
            self.function, self.hints, here, self.along, self.lanes, mask, self._stop, known
        )
        return _chosen(ops, mask, body.of_step(step, held), held)

    # Long bodies.

    def _parts(self, held: Held, body: Body) -> Held:
        def part(ops: Ops, is_end: Flag, so_far: Held) -> Held:
            bounds = self._bounds(ops, is_end)

            def step(inside: Ops, place: Count, carried: Held) -> Held:
                at = inside.down(place, bounds.shift, bounds.begin)
                return self._do(inside, at, carried, body, bounds)

            new = self._steps(ops, bounds, so_far, step)
            bounds.finish()
            return new if bounds.pads is None else _chosen(ops, bounds.pads.mask, new, so_far)

        return self._each_part(held, part)

    def _in_pieces(self, starts: Held, body: Body) -> Held:
        """Accumulators lie in memory between the pieces."""
        ops, kinds = self.row.ops, [start.type for start in starts]
        memory = [self.function.scratch(kind, self.lanes) for kind in kinds]
        saved = [self.function.scratch(kind, self.lanes) for kind in kinds]

        def start(inside: Ops, lane: SSAValue, _: Held) -> Held:
            for value, buffer in zip(starts, memory, strict=True):
                inside.store(inside.spread(value, body.piece), buffer, lane, None)
            return ()

        def part(inside: Ops, is_end: Flag, _: Held) -> Held:
            bounds = self._bounds(inside, is_end)
            self._move_absent(inside, bounds, memory, saved)
            self._steps(inside, bounds, (), partial(self._pieces, memory, body, bounds))
            self._move_absent(inside, bounds, saved, memory)
            bounds.finish()
            return ()

        ops.loop(0, self.lanes, body.piece, (), start)
        self._each_part((), part)
        return memory

    def _pieces(
        self, memory: Held, body: Body, bounds: _Bounds, ops: Ops, place: Count, _: Held
    ) -> Held:
        at = ops.down(place, bounds.shift, bounds.begin)

        def piece(inside: Ops, lane: SSAValue, _: Held) -> Held:
            old = [inside.load(buffer, lane, body.piece, None) for buffer in memory]
            new = self._do(inside, inside.plus(at, lane), old, body, bounds)
            for value, buffer in zip(new, memory, strict=True):
                inside.store(value, buffer, lane, None)
            return ()

        ops.loop(0, bounds.present, body.piece, (), piece)
        return ()

    def _move_absent(self, ops: Ops, bounds: _Bounds, source: Held, target: Held) -> None:
        """The accumulators of lanes that the end of the row does not have."""
        if bounds.pads is None or not source:
            return

        def lane(inside: Ops, number: SSAValue, _: Held) -> Held:
            for old, new in zip(source, target, strict=True):
                inside.store(inside.load(old, number, 0, None), new, number, None)
            return ()

        ops.loop(bounds.present, self.lanes, 1, (), lane)

    def _each_part(self, held: Held, part: Callable[[Ops, Flag, Held], Held]) -> Held:
        ops, moved, rest = self.row.ops, self._moved, self._rest
        if rest == 0 or (isinstance(moved, int) and moved < self.lanes):
            return part(ops, rest != 0, held)

        def numbered(inside: Ops, number: SSAValue, so_far: Held) -> Held:
            return part(inside, inside.compare("ne", number, inside.index(0)), so_far)

        is_short = _less(ops, moved, self.lanes)
        has_end = True if isinstance(rest, int) else ops.compare("ne", rest, ops.index(0))
        first, stop = choice(ops, is_short, 1, 0), choice(ops, has_end, 2, 1)
        return ops.loop(first, stop, 1, held, numbered)

    def _bounds(self, ops: Ops, is_end: Flag) -> _Bounds:
        begin = choice(ops, is_end, self._last, self.first)
        stop = choice(ops, is_end, self._stop, self._end)
        shift = choice(ops, is_end, 0, self.shift)
        present = choice(ops, is_end, self._rest, self.lanes)
        if is_end is False:
            return _Bounds(begin, stop, shift, present)
        here = self.row.inside(ops, self.along, begin)
        pads = Pads(self.function, here, self.along, is_end, present, self.lanes)
        return _Bounds(begin, stop, shift, present, pads)

    def _steps(self, ops: Ops, bounds: _Bounds, held: Held, step: StepAt) -> Held:
        begin, stop = bounds.begin, bounds.stop
        if isinstance(begin, int) and isinstance(stop, int) and stop - begin <= self.lanes:
            return step(ops, begin, held)
        return ops.loop(begin, stop, self.lanes, held, step)

    def _do(self, ops: Ops, place: Count, held: Held, body: Body, bounds: _Bounds) -> Held:
        here = self.row.inside(ops, self.along, place)
        end = None if bounds.pads is None else self._stop
        step = Step(
            self.function, self.hints, here, self.along, body.piece,
            streams=self.streams, end=end, pads=bounds.pads,
        )  # fmt: skip
        return body.of_step(step, held)


StepAt: TypeAlias = Callable[[Ops, Count, Held], Held]
"""What is done at a place."""


@frozen
class _Bounds:
    """The steps of a part, and how many elements the last one has."""

    begin: Count
    stop: Count
    shift: Count
    present: Count
    pads: Pads | None = None

    def finish(self) -> None:
        """Called behind the steps."""
        if self.pads is not None:
            self.pads.finish()


def _less(ops: Ops, count: Count, least: int) -> Flag:
    if isinstance(count, int):
        return count < least
    return ops.compare("ult", count, ops.index(least))


def _chosen(ops: Ops, mask: SSAValue, new: Held, old: Held) -> list[SSAValue]:
    """The new values in the lanes that exist."""
    return [ops.select(mask, *pair) for pair in zip(new, old, strict=True)]
