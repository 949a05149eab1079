"""Memory for the end of a row, as long as a step: a body need not know that elements are missing.

Before the steps of the end, what they load is copied there; after them, what they stored is
copied to its place. What lies behind the end is anything, and nobody uses what becomes of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from kina.passes.kernels.function import KernelFunction
from kina.passes.kernels.ops import Count, Flag, Ops, element_type, vector_of
from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.graph import Access

if TYPE_CHECKING:
    from kina.passes.kernels.step import Row

Place: TypeAlias = tuple[SSAValue, Count]
"""A buffer, and an element of it."""


def choice(ops: Ops, flag: Flag, yes: Count, no: Count) -> Count:
    """One of two counts."""
    if isinstance(flag, bool):
        return yes if flag else no
    if yes is no or (isinstance(yes, int) and yes == no):
        return yes
    return ops.select(flag, ops.index(yes), ops.index(no))


@dataclass
class Pads:
    """The pads of one part of a walk, which is the end of the row if `is_end`.

    `row` stands at the first element of the part; a step of the end has `present` elements.
    """

    function: KernelFunction
    row: Row
    along: int
    is_end: Flag
    present: Count
    lanes: int
    _places: dict[object, Place] = field(default_factory=dict)
    _mask: SSAValue | None = None
    _copies: list[tuple[SSAValue, SSAValue, Count]] = field(default_factory=list)
    """What is copied back: from a pad, to a buffer, from an element on."""

    @property
    def mask(self) -> SSAValue:
        """True in the lanes that are present."""
        if self._mask is None:
            self._mask = self.row.ops.mask(self.present, self.lanes)
        return self._mask

    def place(
        self, ops: Ops, stage: Stage, value: SSAValue, access: Access, at: Count, *, writes: bool
    ) -> Place:
        """Where a step finds, or leaves, what belongs to the place `at` along the walk."""
        strides = self.function.strides(value, stage, access)
        key = value, access, tuple(strides.items()), writes
        if key not in self._places:
            self._places[key] = self._make(stage, value, access, writes=writes)
        buffer, start = self._places[key]
        return buffer, ops.plus(start, ops.minus(at, self.row.places[self.along]))

    def _make(self, stage: Stage, value: SSAValue, access: Access, *, writes: bool) -> Place:
        ops = self.row.ops
        buffer = self.function.buffer(value)
        start = self.function.offset(ops, value, stage, access, self.row.places)
        pad = self._pad(buffer)
        if writes:
            self._copies.append((pad, buffer, start))
        else:
            self._at_end(lambda inside: self._fill(inside, buffer, start, pad))
        if self.is_end is True:
            return pad, 0
        assert isinstance(self.is_end, SSAValue)
        chosen = ops.value(arith.SelectOp(self.is_end, pad, buffer))
        return chosen, choice(ops, self.is_end, 0, start)

    def finish(self) -> None:
        """Called behind the steps: copies what they stored to its place."""
        for pad, buffer, start in self._copies:
            self._at_end(lambda inside, p=pad, b=buffer, s=start: self._empty(inside, p, b, s))

    def _pad(self, buffer: SSAValue) -> SSAValue:
        entry, element = self.function.entry, element_type(buffer)
        pad = entry.flat(self.function.scratch(element, self.lanes))
        if not self.function.machine.masks:
            entry.store(entry.zeros(vector_of(element, self.lanes)), pad, 0, None)
        return pad

    def _at_end(self, copy: Callable[[Ops], None]) -> None:
        ops = self.row.ops
        if self.is_end is True:
            copy(ops)
            return
        assert isinstance(self.is_end, SSAValue)

        def copied(inside: Ops) -> tuple[()]:
            copy(inside)
            return ()

        ops.when(self.is_end, (), copied)

    def _fill(self, ops: Ops, buffer: SSAValue, start: Count, pad: SSAValue) -> None:
        """Loads what is present; all of the pad is stored: what is masked reaches no load soon."""
        if self.function.machine.masks:
            ops.store(ops.load(buffer, start, self.lanes, self.mask), pad, 0, None)
        else:
            self._one_by_one(ops, buffer, start, pad, 0)

    def _empty(self, ops: Ops, pad: SSAValue, buffer: SSAValue, start: Count) -> None:
        if self.function.machine.masks:
            ops.store(ops.load(pad, 0, self.lanes, None), buffer, start, self.mask)
        else:
            self._one_by_one(ops, pad, 0, buffer, start)

    def _one_by_one(
        self, ops: Ops, source: SSAValue, first: Count, target: SSAValue, start: Count
    ) -> None:
        def element(inside: Ops, number: SSAValue, _: object) -> tuple[()]:
            value = inside.load(source, inside.plus(first, number), 0, None)
            inside.store(value, target, inside.plus(start, number), None)
            return ()

        ops.loop(0, self.present, 1, (), element)
