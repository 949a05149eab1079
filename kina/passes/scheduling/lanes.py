"""Contests (argmax) in lanes: each lane holds its own, then one of the best lanes wins.

Upstream splits a reduction into lanes if one operation joins two elements. That of a contest is a
comparison and two choices, so its lanes are written out here: a loop over steps of whole lanes,
then the end of the axis as lanes once more. It overlaps with the last step: an element that
competes twice changes nothing. If the size is known only at run time, the end comes one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from xdsl.dialects import arith, linalg
from xdsl.dialects.builtin import IntegerAttr, IntegerType, i8
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from kina.passes.extrema import settled
from kina.passes.scheduling.contests import join_of
from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.generic import copy, generic, index_constant, index_op
from kina.passes.scheduling.graph import Access, element_of
from kina.passes.scheduling.space import LANES, Part

if TYPE_CHECKING:
    from kina.passes.scheduling.outline import KernelBuilder

Held: TypeAlias = tuple[SSAValue, SSAValue]
"""A best value and its index, of each lane or of each row."""


def build_contest(builder: KernelBuilder, stage: Stage) -> SSAValue:
    """Adds the ops of a contest to a kernel; the index that wins in each row."""
    return _Contest(builder, stage).build()


class _Contest:
    def __init__(self, builder: KernelBuilder, stage: Stage) -> None:
        space, frame = builder.space, builder.kernel.frame
        assert space.axis is not None
        self._builder, self._stage, self._axis = builder, stage, space.axis
        self._size = space.size(space.axis)
        self._rows = space.access(frame, stage, stage.node.accesses[-1])

    def build(self) -> SSAValue:
        """The ops in order."""
        if self._size.factors or self._builder.space.in_pieces:
            return self._at_run_time()
        return self._static(self._size.known)

    def _static(self, size: int) -> SSAValue:
        lanes = min(LANES, 1 << (size.bit_length() - 1))
        steps = Part(self._axis, 0, size // lanes, lanes)
        held = self._compete(steps, self._starts(steps))
        if size % lanes:
            held = self._compete(Part(self._axis, size - lanes, None, lanes), held)
        _, index = self._winner(held, self._builder.target(self._stage))
        return index

    def _at_run_time(self) -> SSAValue:
        """There may be less than the lanes take: the last elements come one by one."""
        builder, stage = self._builder, self._stage
        _, size = builder.ranges.get(self._axis, (None, None))
        if size is None:
            size = builder.size(self._size)
        steps = builder.add(arith.DivUIOp(size, builder.index(LANES)))
        first = builder.add(arith.MuliOp(steps, builder.index(LANES)))
        left = builder.add(arith.SubiOp(size, first))
        whole = Part(self._axis, 0, steps, LANES)
        held = self._compete(whole, self._starts(whole))
        index = builder.empty(self._rows, stage.element)
        held = self._compete(Part(self._axis, first, left), self._winner(held, index))
        if builder.space.in_pieces:  # pieces compete on
            best = stage.node.op.results[0]
            builder.made[best] = builder.add(copy(held[0], builder.target(stage, best)))
        return builder.add(copy(held[1], builder.target(stage)))

    def _starts(self, part: Part) -> Held:
        builder = self._builder
        best, index = (
            builder.filled(
                output,
                builder.empty((*self._rows, self._axis + 1), element_of(output), part),
            )
            for output in self._stage.node.op.outputs
        )
        return best, index

    def _compete(self, part: Part, held: Held) -> Held:
        """One op over a part of the axis, from and to the best value and index of each lane."""
        builder, stage = self._builder, self._stage
        loops = part.loops((*self._rows, self._axis))
        inputs = [builder.read_part(v, a, stage, part) for v, a in stage.leaves]
        space, frame = builder.space, builder.kernel.frame
        walks = [part.loops(space.access(frame, stage, a)) for _, a in stage.leaves]
        body = self._body(part, loops)
        if part.steps is not None and not any(self._axis in walk for walk in walks):
            inputs.append(builder.empty((self._axis,), i8, part))  # no input tells the size
            walks.append((self._axis,))
            body.insert_arg(i8, len(walks) - 1)
        made = tuple(loop for loop in loops if loop != self._axis)
        kinds = ["reduction" if loop == self._axis else "parallel" for loop in loops]
        op = generic(inputs, held, body, _maps(loops, [*walks, made, made]), kinds)
        builder.add(op)
        return op.results[0], op.results[1]

    def _body(self, part: Part, loops: Access) -> Block:
        """The stage's body; the position along the axis is counted in the loops of the part."""
        body = self._builder.body(self._stage, {loop: i for i, loop in enumerate(loops)})
        place = body.args[len(self._stage.leaves)]
        ops: list[Operation] = []

        def add(op: Operation) -> SSAValue:
            ops.append(op)
            return op.results[0]

        first = part.first
        total = add(index_constant(first)) if isinstance(first, int) else first
        for loop in part.mine:
            index = add(index_op(loops.index(loop)))
            if loop == self._axis:
                index = add(arith.MuliOp(index, add(index_constant(part.lanes or 1))))
            total = add(arith.AddiOp(total, index))
        if self._axis in self._builder.ranges:
            total = add(arith.AddiOp(total, self._builder.ranges[self._axis][0]))
        place.replace_all_uses_with(add(arith.IndexCastOp(total, place.type)))
        assert body.first_op is not None
        body.insert_ops_before(ops, body.first_op)
        body.erase_arg(place)
        return body

    def _winner(self, held: Held, target: SSAValue) -> Held:
        """The best value of all lanes, and the lowest index of those that hold it."""
        builder, (best, index) = self._builder, held
        output = self._stage.node.op.outputs[0]
        start = builder.filled(output, builder.empty(self._rows, element_of(best)))
        most = self._over_lanes([best], start, self._better)
        absent = builder.add(arith.ConstantOp(_greatest_integer(element_of(index))))
        start = builder.add(linalg.ops.FillOp([absent], [target], [target.type]))
        return most, self._over_lanes([best, index, most], start, _lowest)

    def _better(self, block: Block) -> None:
        """The body of a reduction to the better value, by the contest's own comparison.

        No lane holds a NaN, and the index is taken from either zero.
        """
        join = join_of(self._stage.node.op)
        assert join is not None
        value, best = block.args
        joined = settled(join(value, best))
        block.add_ops([joined, linalg.ops.YieldOp(joined)])

    def _over_lanes(
        self, inputs: Sequence[SSAValue], start: SSAValue, body: Callable[[Block], None]
    ) -> SSAValue:
        """A reduction over lanes; the inputs have lanes but for the third."""
        lanes = (*self._rows, self._axis + 1)
        block = Block(arg_types=[element_of(value) for value in (*inputs, start)])
        body(block)
        walks = [*[lanes, lanes, self._rows][: len(inputs)], self._rows]
        kinds = ["parallel"] * len(self._rows) + ["reduction"]
        return self._builder.add(generic(inputs, [start], block, _maps(lanes, walks), kinds))


def _maps(loops: Access, walks: Sequence[Access]) -> list[AffineMap]:
    number = {loop: i for i, loop in enumerate(loops)}
    return [
        AffineMap(len(loops), 0, tuple(AffineExpr.dimension(number[loop]) for loop in walk))
        for walk in walks
    ]


def _lowest(block: Block) -> None:
    """The body of the lowest index whose value is `most`."""
    value, index, most, lowest = block.args
    is_integer = isinstance(value.type, IntegerType)
    equal = arith.CmpiOp(value, most, "eq") if is_integer else arith.CmpfOp(value, most, "oeq")
    absent = arith.ConstantOp(_greatest_integer(index.type))
    chosen = arith.SelectOp(equal, index, absent)
    joined = arith.MinSIOp(chosen, lowest)
    block.add_ops([equal, absent, chosen, joined, linalg.ops.YieldOp(joined)])


def _greatest_integer(kind: Attribute) -> IntegerAttr:
    integer = cast(IntegerType, kind)
    return IntegerAttr((1 << (integer.width.data - 1)) - 1, integer)
