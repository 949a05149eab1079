"""What all kernels have in common: loops over rows, and in a row one stage after the other.

A strategy says which loop the vectors run along, how a reduction walks a row, and how results of
elements are written. Everything else is the same: a stage that reduces gives the row one value, a
stage over rows alone is computed once, and what is stored per element comes in one last walk.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from xdsl.ir import SSAValue

from kina.order import CHUNK
from kina.passes.kernels.function import KernelFunction, Places
from kina.passes.kernels.hints import Hints
from kina.passes.kernels.kept import is_element, kept
from kina.passes.kernels.ops import Count, Ops
from kina.passes.kernels.reduction import Reduction
from kina.passes.kernels.step import Row, Step, start_of
from kina.passes.kernels.walk import Held
from kina.passes.scheduling.fusion import Stage


class Strategy(ABC):
    """Writes the loops of one kernel."""

    def __init__(self, function: KernelFunction) -> None:
        self.function = function
        self.hints = Hints(function)
        self._kept = kept(function.kernel, function.machine)

    @property
    @abstractmethod
    def inner(self) -> int | None:
        """The loop that is walked within a row, None if there is none."""

    @abstractmethod
    def one(self, row: Row) -> Step:
        """The step that computes what a row has one value of."""

    held = 0
    """Lanes of what a row has one value of; 0 for a scalar."""
    part_size = CHUNK
    """Elements that a sum adds for themselves."""

    @abstractmethod
    def part(self, row: Row, reduction: Reduction, first: Count, count: Count) -> Held:
        """A reduction of some elements of a row, from its start."""

    @abstractmethod
    def write(self, row: Row, stages: Sequence[Stage], *, streams: bool) -> None:
        """One walk of a row that stores what some stages compute; large ones past the caches."""

    def build(self) -> None:
        """Appends everything to the function."""
        loops = [loop for loop in range(len(self.function.space.sizes)) if loop != self.inner]
        function = self.function
        nest(function, function.ops, loops, {}, lambda ops, places: self._row(Row(ops, places)))
        self.hints.finish()

    def reduce(self, row: Row, stage: Stage) -> Held:
        """A reduction of a row: its value, or a contest's best value and index.

        In one part, or in as many as the language's order has, one joined after the other.
        """
        assert self.inner is not None
        reduction, size = Reduction(stage), self.part_size
        first, count = self.function.bounds(self.inner)
        if stage.node.is_chain:
            return self.part(row, reduction, first, count)
        starts = reduction.starts(row.ops, self.held)
        if self.function.space.carries:
            starts = self._carried(row, stage, starts, first)
        whole = isinstance(count, int) and count <= size
        if whole or not stage.node.is_ordered or self.function.space.in_pieces:
            return reduction.join(row.ops, starts, self.part(row, reduction, first, count))
        end = row.ops.plus(first, count)

        def part(inside: Ops, at: SSAValue, so_far: Sequence[SSAValue]) -> Held:
            left = inside.least(inside.minus(end, at), size)
            here = self.part(row.inside(inside), reduction, at, left)
            return reduction.join(inside, so_far, here)

        return row.ops.loop(first, end, size, starts, part)

    def _carried(
        self, row: Row, stage: Stage, starts: Sequence[SSAValue], first: Count
    ) -> Sequence[SSAValue]:
        """What the calls before have left where the result will be."""
        function, ops = self.function, row.ops
        step = self.one(row)

        def left(inside: Ops) -> Sequence[SSAValue]:
            at = function.offset(inside, stage.value, stage, stage.written, step.row.places)
            return [inside.load(function.buffer(stage.value), at, step.lanes, None)]

        return ops.when(ops.compare("ne", ops.index(first), ops.index(0)), starts, left)

    def _row(self, row: Row) -> None:
        outputs = self.function.kernel.outputs
        elements: list[Stage] = []
        for stage in self.function.kernel.stages:
            if stage.node.is_scan and self.function.space.axis is not None:
                self._scan(row, stage, self.function.space.axis)
                continue
            if not self._is_walked(stage):
                self._row_value(row, stage)
                continue
            elements += [stage] if stage.value in outputs else []
            if stage.value in self._kept:
                self.write(row, elements, streams=False)
                row.written.update(element.value for element in elements)
                elements = []
        if elements:
            self.write(row, elements, streams=True)

    def _scan(self, row: Row, stage: Stage, axis: int) -> None:
        """One walk of a row that keeps a running value, and stores a value for each element."""
        first, count = self.function.bounds(axis)
        lanes = self.one(row).lanes
        start = start_of(row.ops, stage.node.op.outputs[0])
        assert start is not None

        def element(inside: Ops, place: SSAValue, so_far: Sequence[SSAValue]) -> Held:
            step = self.one(row.inside(inside, axis, place))
            held, value = step.values(stage, [*so_far, None])
            step.write(stage, value, stage.value)
            return [inside.spread(held, lanes)]

        starts = [row.ops.spread(start, lanes)]
        row.ops.loop(first, row.ops.plus(first, count), 1, starts, element)

    def _is_walked(self, stage: Stage) -> bool:
        """Whether a stage has a value for each element of a row, and is no reduction of them."""
        if self.inner is None:
            return False
        return self.function.space.axis is None or is_element(self.function.kernel, stage)

    def _row_value(self, row: Row, stage: Stage) -> None:
        results = stage.node.op.results
        if stage.node.axis is not None and self.function.space.axis is not None:
            row.made.update(zip(results, self.reduce(row, stage), strict=True))
        else:
            row.made[stage.value] = self.one(row).value(stage)
        for value in results:
            if value in self.function.kernel.outputs:
                self.one(row).write(stage, row.made[value], value)


def nest(
    function: KernelFunction,
    ops: Ops,
    loops: Sequence[int],
    places: Places,
    body: Callable[[Ops, Places], None],
) -> None:
    """Some loops of a kernel, one in the other, around `body`."""
    if not loops:
        body(ops, places)
        return
    loop, *others = loops
    first, count = function.bounds(loop)
    if count == 1:
        nest(function, ops, others, {**places, loop: first}, body)
        return

    def each(inside: Ops, place: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
        nest(function, inside, others, {**places, loop: place}, body)
        return ()

    ops.loop(first, ops.plus(first, count), 1, (), each)
