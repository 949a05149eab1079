"""Hints on memory, where they are decided: rows to fetch ahead, results past the caches."""

from __future__ import annotations

from collections import Counter

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import f16, i16, i64
from xdsl.ir import SSAValue

from kina.dialects.upstream import fence, prefetch, stream
from kina.frozen import frozen
from kina.passes.kernels.function import KernelFunction
from kina.passes.kernels.ops import (
    Count,
    Flag,
    Ops,
    bytes_of,
    element_type,
    lanes_of,
    vector_of,
)
from kina.passes.scheduling.space import Size
from kina.passes.scheduling.traffic import far_steps, large_results, next_rows, next_steps, streams

FIRST, SECOND = 3, 2
"""The levels of cache as `memref.prefetch` counts them."""


@frozen(slots=True)
class Fetch:
    """What a load asks for besides: the place so many elements on, if it is that of this walk.

    A line of each `apart` bytes.
    """

    walk: int
    distance: Size
    level: int
    apart: int


class Hints:
    """The hints of one kernel."""

    def __init__(self, function: KernelFunction) -> None:
        self._function, self._machine = function, function.machine
        kernel, space, machine = function.kernel, function.space, function.machine
        rows = next_rows(kernel, space, machine)
        line = machine.line
        self._fetches = {value: Fetch(2, size, self._level(size), line) for value, size in rows}
        steps = next_steps(kernel, space, machine)
        self._fetches |= {value: Fetch(2, size, FIRST, line) for value, size in steps}
        ahead = streams(kernel, space, machine)
        self._fetches |= {value: Fetch(1, size, SECOND, machine.apart) for value, size in ahead}
        far = far_steps(kernel, space, machine)
        self._fetches |= {value: Fetch(1, size, SECOND, line) for value, size in far}
        self._loads = Counter[SSAValue]()
        self._large = dict(large_results(kernel, machine))
        self._streams: dict[SSAValue, SSAValue] = {}
        self._zero: SSAValue | None = None

    def _level(self, distance: Size) -> int:
        near = not distance.factors and distance.known <= self._machine.first_level
        return FIRST if near else SECOND

    def loaded(self, ops: Ops, buffer: SSAValue, value: SSAValue, at: Count, lanes: int) -> None:
        """Called after a load of whole vectors: fetches what will be loaded later."""
        self._loads[value] += 1
        fetch = self._fetches.get(value)
        if fetch is None or fetch.walk != self._loads[value]:
            return
        start = ops.plus(at, self._function.size(fetch.distance))
        together = fetch.apart // bytes_of(element_type(buffer))
        if lanes < together:  # The same line again costs nothing, the next one too soon does.
            start = ops.minus(start, ops.remainder(start, together))
        self.fetch(ops, buffer, start, lanes, fetch.level, fetch.apart)

    def fetch(
        self, ops: Ops, buffer: SSAValue, at: Count, count: int, level: int, apart: int = 0
    ) -> None:
        """Asks for the lines of some elements, or for one of each `apart` bytes."""
        size, step = bytes_of(element_type(buffer)), apart or self._machine.line
        for line in range(0, max(step, count * size), step):
            ops.append(prefetch(buffer, ops.index(ops.plus(at, line // size)), level))

    # Streaming.

    def streams(self, value: SSAValue, lanes: int) -> SSAValue | None:
        """Whether a result is large, as a flag; None if it never is, or lanes make no lines."""
        size = bytes_of(element_type(self._function.buffer(value)))
        if value not in self._large or lanes * size % self._machine.line:
            return None
        if value not in self._streams:
            ops = self._function.entry
            least = self._machine.streamed // size
            count = ops.index(self._function.size(self._large[value]))
            self._streams[value] = ops.value(arith.CmpiOp(count, ops.index(least), "uge"))
        return self._streams[value]

    def shift(self, ops: Ops, value: SSAValue, at: Count, count: Count, lanes: int) -> Count:
        """How many elements a row starts after a whole line; 0 if it is not to be streamed."""
        large = self.streams(value, lanes)
        least = max(self._machine.long_row, lanes)
        if large is None or (isinstance(count, int) and count < least):
            return 0
        buffer = self._function.buffer(value)
        off = self.past_line(ops, buffer, at)
        long = ops.value(arith.CmpiOp(ops.index(count), ops.index(least), "uge"))
        moves = ops.value(arith.AndIOp(large, long))
        elements = ops.divide(off, bytes_of(element_type(buffer)))
        return ops.value(arith.SelectOp(moves, ops.index(elements), ops.index(0)))

    def past_line(self, ops: Ops, buffer: SSAValue, at: Count) -> SSAValue:
        """How many bytes an element lies after the beginning of a line."""
        base = self._function.entry.value(memref.ExtractAlignedPointerAsIndexOp.get(buffer))
        size = bytes_of(element_type(buffer))
        address = ops.index(ops.plus(base, ops.times(at, size)))
        return ops.value(arith.AndIOp(address, ops.index(self._machine.line - 1)))

    def store(
        self,
        ops: Ops,
        made: SSAValue,
        value: SSAValue,
        buffer: SSAValue,
        at: Count,
        is_end: Flag,
    ) -> None:
        """Stores whole vectors, past the caches if the result is large and the place aligned.

        What is done on pads stays in the caches.
        """
        lanes = lanes_of(made)
        large = None if is_end is True else self.streams(value, lanes)
        if large is None:
            ops.store(made, buffer, at, None)
            return
        off = self.past_line(ops, self._function.buffer(value), at)
        aligned = ops.value(arith.CmpiOp(off, ops.index(0), "eq"))
        if isinstance(is_end, SSAValue):
            aligned = ops.compare("ult", is_end, aligned)  # aligned, and not at the end

        def past(inner: Ops) -> tuple[()]:
            # By lines: the optimiser forgets what kind of store it was when it splits vectors.
            step = self._machine.line // bytes_of(element_type(buffer))
            for first in range(0, lanes, step):
                line = self._selectable(inner, inner.lanes_of(made, range(first, first + step)))
                inner.append(stream(line, buffer, inner.index(inner.plus(at, first))))
            return _end(inner)

        def plain(inner: Ops) -> tuple[()]:
            inner.store(made, buffer, at, None)
            return ()

        ops.either(ops.value(arith.AndIOp(large, aligned)), past, plain)

    def _selectable(self, ops: Ops, line: SSAValue) -> SSAValue:
        """LLVM selects no such store of halves: one of integers, of which it cannot see otherwise.

        They are joined with zeros of which it does not know that they are: an address's top bit.
        """
        if element_type(line) != f16:
            return line
        lanes = self._machine.line // 2
        bits = ops.value(arith.BitcastOp(line, vector_of(i16, lanes)))
        mixed = ops.value(arith.OrIOp(bits, ops.spread(self._opaque_zero(), lanes)))
        return ops.value(arith.BitcastOp(mixed, line.type))

    def _opaque_zero(self) -> SSAValue:
        if self._zero is None:
            entry = self._function.entry
            pointer = next(iter(self._streams))
            base = memref.ExtractAlignedPointerAsIndexOp.get(self._function.buffer(pointer))
            wide = entry.value(arith.IndexCastOp(entry.value(base), i64))
            top = entry.value(
                arith.ShRUIOp(wide, entry.value(arith.ConstantOp.from_int_and_width(63, i64)))
            )
            self._zero = entry.value(arith.TruncIOp(top, i16))
        return self._zero

    def finish(self) -> None:
        """Ends the kernel: what was streamed is not ordered with what comes next."""
        ops = self._function.ops
        for large in self._streams.values():

            def drain(inner: Ops) -> tuple[()]:
                inner.append(fence())
                return _end(inner)

            ops.when(large, (), drain)
            return


def _end(ops: Ops) -> tuple[()]:
    """Ends a branch: an operation that xDSL does not know would be read back as its terminator."""
    ops.index(0)
    return ()
