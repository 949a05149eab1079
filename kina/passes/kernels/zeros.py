"""Runs of zeros in the left factor of a product, which are passed over when it runs.

The probabilities of masked attention are zero from some place on, in every row of a tile. A
product with +0.0 adds nothing, as long as what it is multiplied by is finite: `fma(0, v, acc)` is
`acc`. Three things are looked at, so that every bit is that of the whole chain:

    packing the left factor:    between which k a tile has something that is not +0.0
    packing a panel:            whether all of it is finite; else nothing is passed over
    the accumulators:           whether one is -0.0, which +0.0 would make +0.0: no k is left out
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import IntegerType, VectorType, f32, i1, i32
from xdsl.ir import SSAValue

from kina.frozen import frozen
from kina.passes.builder import INDEX
from kina.passes.kernels.ops import Count, LoopBody, Ops, lanes_of

PLACES = 2
"""Elements of memory for a tile."""
MAGNITUDE, INFINITY, MINUS_ZERO = 0x7FFFFFFF, 0x7F800000, -(1 << 31)
"""Bits of an F32."""


@frozen
class Watch:
    """Looks at what is packed of both factors; `height` rows are a tile."""

    height: int
    start: Count
    """Where the places of tiles are kept."""

    def starts(self, ops: Ops, depth: Count) -> list[SSAValue]:
        """A tile begins behind its end: there is nothing but +0.0."""
        return [ops.index(depth), ops.index(0)]

    def seen_left(
        self, ops: Ops, made: SSAValue, k: Count, count: Count, held: Sequence[SSAValue]
    ) -> list[SSAValue]:
        """Some elements of a tile, from k on so many."""
        first, end = held
        some = any_lane(ops, ops.compare("ne", as_bits(ops, made), _all(ops, 0, lanes_of(made))))
        earlier = ops.index(ops.least(first, k))
        later = ops.index(ops.most(end, ops.plus(k, count)))
        return [ops.select(some, earlier, first), ops.select(some, later, end)]

    def leave(self, ops: Ops, memory: SSAValue, row: Count, held: Sequence[SSAValue]) -> None:
        """Keeps what was seen of the tile of a row."""
        for number, place in enumerate(held):
            value = ops.value(arith.IndexCastOp(place, i32))
            value = ops.value(arith.BitcastOp(value, f32))
            ops.store(value, memory, self._place(ops, row, number), None)

    def between(self, ops: Ops, memory: SSAValue, row: Count) -> list[SSAValue]:
        """The first k of the tile of a row that has something, and the first behind all that do."""
        held = [ops.load(memory, self._place(ops, row, number), 0, None) for number in (0, 1)]
        places = [ops.value(arith.BitcastOp(value, i32)) for value in held]
        first, end = (ops.value(arith.IndexCastOp(place, INDEX)) for place in places)
        return [ops.index(ops.least(first, end)), end]

    def _place(self, ops: Ops, row: Count, number: int) -> Count:
        slot = ops.times(ops.divide(row, self.height), PLACES)
        return ops.plus(ops.plus(self.start, number), slot)

    # The panel.

    def sight(self, ops: Ops, lanes: int) -> list[SSAValue]:
        """The largest magnitudes that were seen, as bits."""
        return [_all(ops, 0, lanes)]

    def seen_right(self, ops: Ops, made: SSAValue, held: Sequence[SSAValue]) -> list[SSAValue]:
        """Some elements of a panel."""
        mask = _all(ops, MAGNITUDE, lanes_of(made))
        bits = ops.value(arith.AndIOp(as_bits(ops, made), mask))
        return [ops.value(arith.MaxUIOp(bits, held[0]))]

    def is_finite(self, ops: Ops, held: Sequence[SSAValue]) -> SSAValue:
        """Whether all of a panel is."""
        lanes = lanes_of(held[0])
        large = any_lane(ops, ops.compare("uge", held[0], _all(ops, INFINITY, lanes)))
        return ops.value(arith.XOrIOp(large, ops.integer(-1, i1)))


@frozen
class Passing:
    """The k of a tile: those between which it has something, and then, rarely, the others."""

    watch: Watch
    memory: SSAValue
    finite: SSAValue
    depth: Count
    row: Count

    def run(self, ops: Ops, starts: Sequence[SSAValue], body: LoopBody) -> list[SSAValue]:
        """The accumulators behind all k."""
        first, end = self.watch.between(ops, self.memory, self.row)
        zero, depth = ops.index(0), ops.index(self.depth)
        first = ops.select(self.finite, first, zero)
        end = ops.select(self.finite, end, depth)

        def turn(inside: Ops, number: SSAValue, held: Sequence[SSAValue]) -> Sequence[SSAValue]:
            minus = any_minus_zero(inside, held)
            is_first = inside.compare("eq", number, zero)
            low = inside.select(
                is_first, inside.select(minus, zero, first), inside.select(minus, end, depth)
            )
            high = inside.select(is_first, end, depth)
            return inside.loop(low, high, 1, held, body)

        return ops.loop(zero, ops.index(2), 1, starts, turn)


def any_minus_zero(ops: Ops, values: Sequence[SSAValue]) -> SSAValue:
    """Whether a lane of some vectors is -0.0: as an integer it is the least one."""
    least = as_bits(ops, values[0])
    for value in values[1:]:
        least = ops.value(arith.MinSIOp(least, as_bits(ops, value)))
    return any_lane(ops, ops.compare("eq", least, _all(ops, MINUS_ZERO, lanes_of(least))))


def any_lane(ops: Ops, truths: SSAValue) -> SSAValue:
    """Whether one of some truths holds."""
    kind = IntegerType(lanes_of(truths))
    packed = ops.value(vector.BitcastOp(truths, VectorType(kind, [1])))
    bits = ops.value(vector.ExtractOp(packed, [0], kind))
    return ops.compare("ne", bits, ops.integer(0, kind))


def as_bits(ops: Ops, values: SSAValue) -> SSAValue:
    """The bits of F32 in lanes."""
    return ops.cast(arith.BitcastOp, values, i32)


def _all(ops: Ops, number: int, lanes: int) -> SSAValue:
    return ops.spread(ops.integer(number, i32), lanes)
