"""How the elements of a reduction are joined: one operation, or a contest's choice of a winner."""

from __future__ import annotations

from functools import partial

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from kina.passes.kernels.ops import Ops, element_type, is_memory
from kina.passes.kernels.step import on_lanes, start_of
from kina.passes.kernels.walk import Held
from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.join import combination


class Reduction:
    """The accumulators of one stage."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self._join = combination(stage)

    def starts(self, ops: Ops, lanes: int) -> list[SSAValue]:
        """The accumulators before the first element."""
        starts = [start_of(ops, output) for output in self.stage.node.op.outputs]
        return [ops.spread(start, lanes) for start in starts if start is not None]

    def join(self, ops: Ops, left: Held, right: Held) -> Held:
        """Two accumulators as one."""
        if self.stage.node.is_contest:
            return self._winner(ops, left, right)
        (op,) = self._join
        return on_lanes(ops, op, [*left, *right])

    def _winner(self, ops: Ops, left: Held, right: Held) -> Held:
        """The better value; of equal ones that with the lower index."""
        compare = self._join[0]
        (better,) = on_lanes(ops, compare, [right[0], left[0]])
        is_integer = isinstance(element_type(left[0]), IntegerType)
        equal = ops.compare("eq" if is_integer else "oeq", right[0], left[0])
        lower = ops.compare("slt", right[1], left[1])
        wins = ops.value(arith.OrIOp(better, ops.value(arith.AndIOp(equal, lower))))
        return [ops.select(wins, *pair) for pair in zip(right, left, strict=True)]

    def _challenge(self, memory: Held, ops: Ops, lane: SSAValue, so_far: Held) -> Held:
        return self.join(ops, so_far, [ops.load(buffer, lane, 0, None) for buffer in memory])

    def over_lanes(self, ops: Ops, held: Held, lanes: int) -> Held:
        """The lanes joined as a halving tree: j with j + 32, j + 16, …

        Without lanes there is nothing to join. In memory, the winner of a contest is found in any
        order: short code.
        """
        if not lanes:
            return held
        if is_memory(held[0]) and self.stage.node.is_contest:
            return ops.loop(0, lanes, 1, self.starts(ops, 0), partial(self._challenge, held))
        held = [ops.load(value, 0, lanes, None) if is_memory(value) else value for value in held]
        while lanes > 1:
            lanes //= 2
            low = [ops.lanes_of(value, range(lanes)) for value in held]
            high = [ops.lanes_of(value, range(lanes, 2 * lanes)) for value in held]
            held = self.join(ops, low, high)
        return [ops.lane(value, 0) for value in held]
