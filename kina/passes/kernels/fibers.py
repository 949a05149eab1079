"""Fibers along an axis that is not the last, in bands of neighbours.

for each row outside, for each band of 64 (or 8, or 1) fibers:
    a reduction:    for each block of 64 elements, one accumulator per fiber, element after
                    element; then the block to those before
    a fiber value:  on the lanes of the band
    one walk:       down the axis, every result that is stored per element
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from kina.order import BLOCK
from kina.passes.kernels.function import KernelFunction
from kina.passes.kernels.kernel import Strategy
from kina.passes.kernels.ops import Count, Ops
from kina.passes.kernels.reduction import Reduction
from kina.passes.kernels.step import Row, Step
from kina.passes.kernels.walk import Held
from kina.passes.scheduling.fusion import Stage


class Fibers(Strategy):
    """Vectors run across the fibers of a band, the walk goes down the axis."""

    part_size = BLOCK

    def __init__(self, function: KernelFunction) -> None:
        super().__init__(function)
        assert function.space.axis is not None
        self._axis = function.space.axis
        block = function.space.block or 1
        self._lanes = self.held = block if block > 1 else 0
        self._along = function.space.last + 1 if self._lanes else None
        function.strategy, function.lanes = "fibers", self._lanes

    @property
    def inner(self) -> int | None:
        """The reduced axis."""
        return self._axis

    def one(self, row: Row) -> Step:
        """A value of each fiber."""
        if self._along is None:
            return Step(self.function, self.hints, row)
        here = row.inside(row.ops, self._along, 0)
        return Step(self.function, self.hints, here, self._along, self._lanes)

    def part(self, row: Row, reduction: Reduction, first: Count, count: Count) -> Held:
        """Element after element, each fiber in its lane."""

        def element(inside: Ops, place: SSAValue, so_far: Sequence[SSAValue]) -> Held:
            step = self.one(row.inside(inside, self._axis, place))
            values = step.values(reduction.stage, so_far)
            return [inside.spread(value, self._lanes) for value in values]

        starts = reduction.starts(row.ops, self._lanes)
        return row.ops.loop(first, row.ops.plus(first, count), 1, starts, element)

    def write(self, row: Row, stages: Sequence[Stage], *, streams: bool) -> None:
        """Down the axis. A band is too narrow to be streamed."""
        first, count = self.function.bounds(self._axis)

        def element(inside: Ops, place: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            step = self.one(row.inside(inside, self._axis, place))
            for stage in stages:
                step.write(stage, step.value(stage), stage.value)
            return ()

        row.ops.loop(first, row.ops.plus(first, count), 1, (), element)
