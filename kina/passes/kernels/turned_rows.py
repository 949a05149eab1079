"""Products of a few rows with a right factor that lies along k: lines of it, turned in registers.

    for each vector of columns:
        k before the lines of its columns begin
        for each square of columns and k: whole lines, transposed; for each k: the multiply-adds
        the rest of k

Where the columns are a power of two apart, two lines for each of 16 columns do not find room beside
each other in the nearest cache: so squares are read from where a line begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TypeAlias

from xdsl.dialects import math
from xdsl.ir import SSAValue

from kina.passes.kernels.factors import Factors, moved, spans
from kina.passes.kernels.hints import SECOND
from kina.passes.kernels.ops import Count, Ops
from kina.passes.kernels.row_memory import Chunk, RowMemory

Held: TypeAlias = Sequence[SSAValue]
"""The sums of a vector of columns, of each row."""


class TurnedRows:
    """Writes the loops for few rows; `size` is the memory that they take beside that of rows."""

    def __init__(self, factors: Factors, memory: RowMemory, lanes: int) -> None:
        self._factors, self._memory, self._lanes = factors, memory, lanes
        self._square = factors.depth_of_square(lanes)
        self.size = lanes * self._square

    def block(self, ops: Ops, chunk: Chunk, depth: Count) -> None:
        """All columns of a chunk, down a block of k."""
        known = self._factors.static(self._factors.columns)
        even = known is not None and known % self._lanes == 0

        def columns(inside: Ops, column: Count, present: Count) -> None:
            places = moved(inside, chunk.places, self._factors.columns, column)
            held = self._memory.load(inside, chunk, column, self._lanes)
            held = self._down(inside, chunk.at(places), present, depth, held)
            self._memory.store(inside, chunk, column, held)

        spans(ops, 0, chunk.columns, self._lanes, columns, even=even)

    def _down(self, ops: Ops, chunk: Chunk, present: Count, depth: Count, held: Held) -> Held:
        """One vector: what comes before the lines, whole squares, and the rest."""
        before = self._factors.to_line(ops, chunk.places, self._lanes)
        head = 0 if before == 0 else ops.least(before, depth)
        rest = ops.remainder(ops.minus(depth, head), self._square)
        end = ops.minus(depth, rest)
        held = self._stored(ops, chunk, present, 0, head, held)
        if end != 0:
            square = partial(self._turned, chunk, present)
            held = ops.loop(head, end, self._square, held, square)
        return self._stored(ops, chunk, present, end, rest, held)

    def _turned(self, chunk: Chunk, present: Count, ops: Ops, k: SSAValue, held: Held) -> Held:
        """A square in registers; of several rows by way of memory."""
        factors, size = self._factors, self._square
        here = moved(ops, chunk.places, factors.axis, k)
        for lane in range(self._lanes):  # The same k of the next columns.
            later = moved(ops, here, factors.columns, self._lanes + lane)
            factors.fetch(ops, factors.roles.right, later, SECOND, 1)
        if chunk.height > 1:
            return self._stored(ops, chunk, present, k, size, held)
        for number, right in enumerate(factors.square(ops, here, present, size, self._lanes)):
            held = self._products(ops, chunk, ops.plus(k, number), right, held)
        return held

    def _stored(
        self, ops: Ops, chunk: Chunk, present: Count, first: Count, count: Count, held: Held
    ) -> Held:
        """A square by way of memory: code that is short, and may take some of its k alone."""
        if count == 0:
            return held
        factors, lanes, memory = self._factors, self._lanes, self._memory
        here = moved(ops, chunk.places, factors.axis, first)
        start = memory.scratch(ops)
        for number, right in enumerate(factors.square(ops, here, present, count, lanes)):
            ops.store(right, memory.memory, ops.plus(start, number * lanes), None)

        def each(inside: Ops, number: SSAValue, so_far: Held) -> Held:
            at = inside.plus(start, inside.times(number, lanes))
            right = inside.load(memory.memory, at, lanes, None)
            return self._products(inside, chunk, inside.plus(first, number), right, so_far)

        return ops.loop(0, count, 1, held, each)

    def _products(self, ops: Ops, chunk: Chunk, k: Count, right: SSAValue, held: Held) -> Held:
        factors = [
            self._memory.factor(ops, chunk, row, k, self._lanes) for row in range(chunk.height)
        ]
        pairs = zip(factors, held, strict=True)
        return [ops.value(math.FmaOp(factor, right, value)) for factor, value in pairs]
