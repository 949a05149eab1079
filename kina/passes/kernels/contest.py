"""The lanes of an argmax or argmin along a row: a best value each, and when it came.

    for each step of 64 elements:                    in the end:
        better = x > best                                the best value of all lanes
        best   = better ? x : best                       of those that have it, the earliest turn
        turn   = better ? number of the step : turn      of those, the first lane

A number of a step has 32 bits however long the row is: an index of 64 bits in each lane would
take more registers than the values, and most processors' all of them. Lanes that nothing won have
turn 0: together they give the first index, as the language has it where nothing wins.

The number of the step is computed from the place, or each lane counts steps by itself
(`lanes_count` in `machine.py`): a number from a scalar register that masks choose lanes of is sent
to each vector anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import IntegerType, i32
from xdsl.ir import Attribute, Operation, SSAValue

from kina.passes.kernels.ops import (
    Count,
    Ops,
    element_type,
    is_memory,
    lanes_of,
)
from kina.passes.kernels.reduction import Reduction
from kina.passes.kernels.step import Step, on_lanes, start_of
from kina.passes.kernels.walk import Held
from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.join import combination

_LEAST = vector.CombiningKindAttr(vector.CombiningKindFlag.MINUI)
_NEVER = -1
"""Later than every turn, read without its sign."""


class Contest:
    """A contest of `count` elements of a row, `lanes` a step, from the place `first`."""

    def __init__(
        self,
        reduction: Reduction,
        along: int,
        lanes: int,
        first: Count,
        count: Count,
        *,
        lanes_count: bool,
    ) -> None:
        self._reduction = reduction
        self._along, self._lanes, self._first = along, lanes, first
        self._is_one_step = isinstance(count, int) and count <= lanes
        self._lanes_count = lanes_count and not self._is_one_step
        stage = reduction.stage
        self._compare, self._value, _ = combination(stage)
        self._challenger = self._value.operands[1]
        self._ops = frozenset(_behind(self._challenger, stage))
        self._index = cast(IntegerType, stage.accumulated[1])

    def starts(self, ops: Ops) -> Held:
        """What nothing has won yet, at turn 0; perhaps steps counted so far."""
        start = start_of(ops, self._reduction.stage.node.op.outputs[0])
        assert start is not None
        counts = [ops.integer(0, i32)] if self._lanes_count else []
        return [start, ops.integer(0, i32), *counts]

    def step(self, step: Step, held: Held) -> Held:
        """The elements of a step, or of a piece of it, against those before."""
        ops, (best, turn, *counts) = step.ops, held
        challenger = step.part(self._reduction.stage, self._challenger, self._ops)
        challenger = ops.spread(challenger, lanes_of(best))
        (better,) = on_lanes(ops, self._compare, [challenger, best])
        lanes = lanes_of(best)
        (now,) = counts or [ops.spread(self._turn(ops, step.row.places[self._along]), lanes)]
        one = ops.spread(ops.integer(1, i32), lanes)
        later = [ops.value(arith.AddiOp(count, one)) for count in counts]
        return [ops.select(better, challenger, best), ops.select(better, now, turn), *later]

    def _turn(self, ops: Ops, place: Count) -> SSAValue:
        number = ops.divide(ops.minus(place, self._first), self._lanes)
        if isinstance(number, int):
            return ops.integer(number, i32)
        return ops.value(arith.IndexCastOp(number, i32))

    def winner(self, ops: Ops, held: Held) -> Held:
        """The best value and its index; in memory it is looked for lane by lane: short code."""
        best, turn, *_ = held
        if is_memory(best):
            return self._looked_for(ops, best, turn)
        (top,) = self._best(ops, best)
        wins, earliest = self._equal(ops, best, ops.spread(top, self._lanes)), ops.integer(0, i32)
        if not self._is_one_step:
            earliest = _least(ops, self._where(ops, wins, turn))
            is_first = ops.compare("eq", turn, ops.spread(earliest, self._lanes))
            wins = ops.value(arith.AndIOp(wins, is_first))
        lane = _least(ops, self._where(ops, wins, ops.counted(0, i32, self._lanes)))
        return [top, self._index_of(ops, earliest, lane)]

    def _looked_for(self, ops: Ops, best: SSAValue, turn: SSAValue) -> Held:
        def challenge(inside: Ops, lane: SSAValue, so_far: Sequence[SSAValue]) -> Held:
            value, when = (inside.load(buffer, lane, 0, None) for buffer in (best, turn))
            which = inside.value(arith.IndexCastOp(lane, i32))
            found = [value, self._index_of(inside, when, which)]
            return self._reduction.join(inside, so_far, found)

        return ops.loop(0, self._lanes, 1, self._reduction.starts(ops, 0), challenge)

    def _best(self, ops: Ops, held: SSAValue) -> Held:
        lanes = self._lanes
        while lanes > 1:
            lanes //= 2
            low = ops.lanes_of(held, range(lanes))
            high = ops.lanes_of(held, range(lanes, 2 * lanes))
            (better,) = on_lanes(ops, self._compare, [high, low])
            held = ops.select(better, high, low)
        return [ops.lane(held, 0)]

    def _equal(self, ops: Ops, left: SSAValue, right: SSAValue) -> SSAValue:
        is_integer = isinstance(element_type(left), IntegerType)
        return ops.compare("eq" if is_integer else "oeq", left, right)

    def _where(self, ops: Ops, holds: SSAValue, numbers: SSAValue) -> SSAValue:
        return ops.select(holds, numbers, ops.spread(ops.integer(_NEVER, i32), self._lanes))

    def _index_of(self, ops: Ops, turn: SSAValue, lane: SSAValue) -> SSAValue:
        """first + turn * lanes + lane."""
        turn, lane = (self._wide(ops, number) for number in (turn, lane))
        lanes = ops.constant(self._lanes, self._index)
        place = ops.value(arith.AddiOp(ops.value(arith.MuliOp(turn, lanes)), lane))
        if self._first == 0:
            return place
        first = ops.value(arith.IndexCastOp(ops.index(self._first), self._index))
        return ops.value(arith.AddiOp(place, first))

    def _wide(self, ops: Ops, number: SSAValue) -> SSAValue:
        return number if self._index == i32 else ops.value(arith.ExtUIOp(number, self._index))


def _least(ops: Ops, numbers: SSAValue) -> SSAValue:
    """The least lane, read without its sign."""
    properties: dict[str, Attribute] = {
        "kind": _LEAST,
        "fastmath": arith.FastMathFlagsAttr("none"),
    }
    return ops.value(
        vector.ReductionOp.create(operands=[numbers], result_types=[i32], properties=properties)
    )


def _behind(value: SSAValue, stage: Stage) -> set[Operation]:
    """The ops of a stage's body that a value is computed by."""
    found: set[Operation] = set()
    pending = [value]
    while pending:
        op = pending.pop().owner
        if isinstance(op, Operation) and op.parent is stage.block and op not in found:
            found.add(op)
            pending += op.operands
    return found
