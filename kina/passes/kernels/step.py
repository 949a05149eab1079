"""One step of a walk: the values of stages for so many neighbouring elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects import arith, linalg, tensor
from xdsl.ir import Attribute, Operation, SSAValue

from kina.dialects.upstream import like
from kina.passes.builder import INDEX
from kina.passes.extrema import SETTLED
from kina.passes.kernels.function import KernelFunction, Places
from kina.passes.kernels.hints import Hints
from kina.passes.kernels.ops import Count, Ops, element_type, is_vector, lanes_of, vector_of
from kina.passes.kernels.pads import Pads
from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.graph import UNIT, Access

AtLane: TypeAlias = Callable[[Ops, SSAValue], Count]
"""Where the element of a lane lies."""


@dataclass
class Row:
    """One row, or one band of fibers, in the making.

    `made` holds the values that it has one of (one per lane of a band), `written` the values of
    elements that are in memory by now: reading them costs less than computing them again.
    """

    ops: Ops
    places: Places
    made: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    written: set[SSAValue] = field(default_factory=set[SSAValue])

    def has(self, value: SSAValue) -> bool:
        """Whether a value is there by now."""
        return value in self.made or value in self.written

    def inside(self, ops: Ops, loop: int | None = None, place: Count = 0) -> Row:
        """The same row in an inner block, perhaps at a place of another loop."""
        places = self.places if loop is None else {**self.places, loop: place}
        return Row(ops, places, self.made, self.written)


@dataclass
class Step:
    """`lanes` elements of a row along the loop `along`, from the place that the row says.

    Without lanes: one element. Lanes from the place `end` on are not there: they are masked, or
    `pads` hold them. With `streams`, large results may be written past the caches.
    """

    function: KernelFunction
    hints: Hints
    row: Row
    along: int | None = None
    lanes: int = 0
    mask: SSAValue | None = None
    end: Count | None = None
    known: int = 0
    """How many lanes there are, where that is known and vectors have no masks."""
    streams: bool = False
    pads: Pads | None = None
    _here: dict[SSAValue, SSAValue] = field(default_factory=dict)
    _firsts: dict[SSAValue, Count] = field(default_factory=dict)
    """Vectors that count up, with what is in their first lane."""
    _downs: dict[SSAValue, Count] = field(default_factory=dict)
    """Vectors that count down, with what is in their first lane."""

    @property
    def ops(self) -> Ops:
        """Where everything goes."""
        return self.row.ops

    def value(self, stage: Stage) -> SSAValue:
        """What an elementwise stage computes."""
        if stage.value not in self._here:
            starts = [start_of(self.ops, output) for output in stage.node.op.outputs]
            held = starts if stage.node.axis is not None else [starts[0]] if starts else []
            self._here[stage.value] = self.values(stage, held)[-1]
        return self._here[stage.value]

    def values(self, stage: Stage, held: Sequence[SSAValue | None]) -> list[SSAValue]:
        """What the body of a stage yields, given its accumulators."""
        block = stage.block
        known: dict[SSAValue, SSAValue] = {}
        for argument, (value, access) in zip(block.args, stage.leaves, strict=False):
            known[argument] = self.read(stage, value, access)
        for argument, value in zip(block.args[len(block.args) - len(held) :], held, strict=True):
            if value is not None:
                known[argument] = value
        for op in block.ops:
            if isinstance(op, linalg.ops.YieldOp):
                return [self._known(value, known) for value in op.operands]
            if _is_only_cast(op):  # Each cast counts in its own width.
                continue
            known.update(zip(op.results, self._repeat(stage, op, known), strict=True))
        raise AssertionError("a body ends in linalg.yield")

    def part(
        self,
        stage: Stage,
        wanted: SSAValue,
        ops: AbstractSet[Operation],
        given: Mapping[SSAValue, SSAValue] | None = None,
    ) -> SSAValue:
        """What some ops of the body of a stage compute; no accumulator is among them.

        `given` are arguments of the body that have been read.
        """
        needed = {operand for op in ops for operand in op.operands} | {wanted}
        known: dict[SSAValue, SSAValue] = dict(given or {})
        for argument, (value, access) in zip(stage.block.args, stage.leaves, strict=False):
            if argument in needed and argument not in known:
                known[argument] = self.read(stage, value, access)
        for op in stage.block.ops:
            if op in ops:
                known.update(zip(op.results, self._repeat(stage, op, known), strict=True))
        return self._known(wanted, known)

    def read(self, stage: Stage, value: SSAValue, access: Access) -> SSAValue:
        """A leaf of a stage: a scalar if it is the same for all lanes."""
        if value in self.row.made:
            return self.row.made[value]
        inner = self.function.stage_of(value)
        if inner is not None and value not in self.row.written:
            return self.value(inner)
        function, ops = self.function, self.ops
        stride = 0 if self.along is None else self._stride(stage, value, access)
        if self.lanes and stride == 1:
            buffer, at = self._place(stage, value, access, writes=False)
            loaded = self._load(buffer, at)
            if self.mask is None:
                self.hints.loaded(ops, buffer, value, at, self.lanes)
            return loaded
        buffer = function.buffer(value)
        at = function.offset(ops, value, stage, access, self.row.places)
        if not self.lanes or stride == 0:
            return ops.load(buffer, at, 0, None)
        return self._apart(buffer, at, stride)

    def _load(self, buffer: SSAValue, at: Count) -> SSAValue:
        """Elements that lie together; those that are not there are anything."""
        if self.known:
            return self.ops.load_first(buffer, at, self.known, self.lanes)
        return self.ops.load(buffer, at, self.lanes, self.mask)

    def _place(
        self, stage: Stage, value: SSAValue, access: Access, *, writes: bool
    ) -> tuple[SSAValue, Count]:
        """Where the elements of a tensor lie that are walked one by one."""
        if self.pads is not None and self.along is not None:
            at = self.row.places[self.along]
            return self.pads.place(self.ops, stage, value, access, at, writes=writes)
        at = self.function.offset(self.ops, value, stage, access, self.row.places)
        return self.function.buffer(value), at

    def write(self, stage: Stage, made: SSAValue, value: SSAValue) -> None:
        """Stores what a stage computed; `value` is which of its results."""
        function, ops, access = self.function, self.ops, stage.written
        stride = 0 if self.along is None else self._stride(stage, value, access)
        if self.lanes and stride == 1:
            self._write_together(stage, ops.spread(made, self.lanes), value)
            return
        buffer = function.buffer(value)
        at = function.offset(ops, value, stage, access, self.row.places)
        if not self.lanes or stride == 0:
            ops.store(made, buffer, at, None)
        else:
            self._write_apart(made, buffer, at, stride)

    def _write_together(self, stage: Stage, made: SSAValue, value: SSAValue) -> None:
        buffer, at = self._place(stage, value, stage.written, writes=True)
        if self.known:
            self.ops.store_first(made, buffer, at, self.known)
            return
        if not self.streams or self.mask is not None:
            self.ops.store(made, buffer, at, self.mask)
            return
        is_end = False if self.pads is None else self.pads.is_end
        self.hints.store(self.ops, made, value, buffer, at, is_end)

    @property
    def present(self) -> Count:
        """How many lanes there are; none, or less, of a step behind the end."""
        if self.end is None or self.along is None:
            return self.lanes
        left = self.ops.minus(self.end, self.row.places[self.along])
        if isinstance(left, int):
            return min(left, self.lanes)
        return self.ops.value(arith.MinSIOp(left, self.ops.index(self.lanes)))

    def _stride(self, stage: Stage, value: SSAValue, access: Access) -> Count:
        assert self.along is not None
        return self.function.stride(value, stage, access, self.along)

    # The ops of a body.

    def _known(self, value: SSAValue, known: dict[SSAValue, SSAValue]) -> SSAValue:
        return known[value] if value in known else self.function.scalar(value)

    def _repeat(
        self, stage: Stage, op: Operation, known: dict[SSAValue, SSAValue]
    ) -> Sequence[SSAValue]:
        if isinstance(op, linalg.ops.IndexOp):
            return [self._index(stage, op, INDEX)]
        if isinstance(op, arith.IndexCastOp) and isinstance(op.input.owner, linalg.ops.IndexOp):
            return [self._index(stage, op.input.owner, op.result.type)]
        if isinstance(op, tensor.ExtractOp):
            return [self._extract(op, [self._known(index, known) for index in op.indices])]
        operands = [self._known(value, known) for value in op.operands]
        made = on_lanes(self.ops, op, operands)
        counts = isinstance(op, arith.SubiOp) and op.result.type == INDEX
        if counts and operands[1] in self._firsts and not is_vector(operands[0]):
            self._downs[made[0]] = self.ops.minus(operands[0], self._firsts[operands[1]])
        return made

    def _index(self, stage: Stage, op: linalg.ops.IndexOp, kind: Attribute) -> SSAValue:
        """The index along a dimension, as integers of a kind; in the lanes if they walk it."""
        dim = self.function.kernel.frame.dim_map(stage)[op.dim.value.data]
        first = self.function.index(self.ops, dim, self.row.places)
        if not self.lanes or dim == UNIT or not self._walks(dim):
            return self.ops.counted(first, kind, 0)
        counted = self.ops.counted(first, kind, self.lanes)
        self._firsts[counted] = first
        return counted

    def _walks(self, dim: int) -> bool:
        space = self.function.space
        return self.along in space.split([space.loop(dim)])

    def _extract(self, op: tensor.ExtractOp, indices: Sequence[SSAValue]) -> SSAValue:
        """An element of a whole tensor at computed indices: for each lane one."""
        function, ops = self.function, self.ops
        buffer = function.buffer(op.tensor)
        if not any(map(is_vector, indices)):
            return ops.load(buffer, function.element_at(ops, op.tensor, indices), 0, None)
        *outer, last = indices
        if last in self._firsts and not any(map(is_vector, outer)):
            place = [*outer, ops.index(self._firsts[last])]
            at = function.element_at(ops, op.tensor, place)
            return ops.load(buffer, at, self.lanes, self.mask)
        if last in self._downs and self.mask is None and not any(map(is_vector, outer)):
            lowest = ops.minus(self._downs[last], self.lanes - 1)
            at = function.element_at(ops, op.tensor, [*outer, ops.index(lowest)])
            return ops.lanes_of(ops.load(buffer, at, self.lanes, None), range(self.lanes)[::-1])
        saved = [self._saved(index) if is_vector(index) else index for index in indices]

        def at_lane(inner: Ops, lane: SSAValue) -> Count:
            mine = [
                inner.load(held, lane, 0, None) if is_vector(index) else held
                for index, held in zip(indices, saved, strict=True)
            ]
            return function.element_at(inner, op.tensor, mine)

        return self._lane_by_lane(buffer, at_lane)

    # Elements that do not lie together.

    def _apart(self, buffer: SSAValue, at: Count, stride: Count) -> SSAValue:
        return self._lane_by_lane(
            buffer, lambda inner, lane: inner.plus(at, inner.times(lane, stride))
        )

    def _lane_by_lane(self, buffer: SSAValue, at_lane: AtLane) -> SSAValue:
        """A vector of elements at places that a function of the lane says."""
        self.function.scalar_parts["reads apart"] += 1
        scratch = self.function.scratch(element_type(buffer), self.lanes)

        def body(inner: Ops, lane: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            inner.store(inner.load(buffer, at_lane(inner, lane), 0, None), scratch, lane, None)
            return ()

        self.ops.loop(0, self.present, 1, (), body)
        return self.ops.load(scratch, 0, self.lanes, self.mask)

    def _saved(self, value: SSAValue) -> SSAValue:
        scratch = self.function.scratch(element_type(value), self.lanes)
        self.ops.store(value, scratch, 0, None)
        return scratch

    def _write_apart(self, made: SSAValue, buffer: SSAValue, at: Count, stride: Count) -> None:
        self.function.scalar_parts["writes apart"] += 1
        scratch = self._saved(self.ops.spread(made, self.lanes))

        def body(inner: Ops, lane: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            place = inner.plus(at, inner.times(lane, stride))
            inner.store(inner.load(scratch, lane, 0, None), buffer, place, None)
            return ()

        self.ops.loop(0, self.present, 1, (), body)


def _is_only_cast(op: Operation) -> bool:
    """Whether an index is read by casts alone."""
    return isinstance(op, linalg.ops.IndexOp) and all(
        isinstance(use.operation, arith.IndexCastOp) for use in op.result.uses
    )


def on_lanes(ops: Ops, op: Operation, operands: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """An elementwise op on other operands: on vectors if one of these is one.

    An extremum for which neither NaNs nor the signs of zeros count is a comparison and a choice,
    which is one instruction.
    """
    lanes = next((lanes_of(value) for value in operands if is_vector(value)), 0)
    if SETTLED in op.attributes:
        left, right = (ops.spread(value, lanes) for value in operands)
        wins = "ogt" if isinstance(op, arith.MaximumfOp) else "olt"
        return [ops.select(ops.compare(wins, left, right), left, right)]
    if not lanes:
        new = type(op).create(
            operands=operands,
            result_types=op.result_types,
            properties=op.properties,
            attributes=op.attributes,
        )
    else:
        # A scalar may choose between vectors.
        whole = [i == 0 and isinstance(op, arith.SelectOp) for i in range(len(operands))]
        spread = [
            value if keep else ops.spread(value, lanes)
            for value, keep in zip(operands, whole, strict=True)
        ]
        new = like(op, spread, [vector_of(kind, lanes) for kind in op.result_types])
    ops.append(new)
    return new.results


def start_of(ops: Ops, output: SSAValue) -> SSAValue | None:
    """What a reduction starts from, as its tensor is filled; None for another op's output."""
    fill = output.owner
    if not isinstance(fill, linalg.ops.FillOp):
        return None
    constant = fill.inputs[0].owner
    assert isinstance(constant, arith.ConstantOp)
    return ops.value(constant.clone())
