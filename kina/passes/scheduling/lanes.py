"""Contests (argmax) in lanes: each lane holds its own, then one of the best lanes wins.

Upstream splits a reduction into lanes if one operation joins two elements. That of a contest is a
comparison and two choices, so its lanes are written out here: a loop over steps of whole lanes,
then the end of the axis as lanes once more. It overlaps with the last step: an element that
competes twice changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from xdsl.dialects import arith, linalg
from xdsl.dialects.builtin import IntegerAttr, IntegerType, i8
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineExpr, AffineMap

from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.generic import generic, index_constant, index_op
from kina.passes.scheduling.graph import Access, element_of
from kina.passes.scheduling.space import LANES, Part

if TYPE_CHECKING:
    from kina.passes.scheduling.outline import KernelBuilder


def build_contest(builder: KernelBuilder, stage: Stage) -> SSAValue:
    """Adds the ops of a contest to a kernel; the index that wins in each row."""
    return _Contest(builder, stage).build()


class _Contest:
    def __init__(self, builder: KernelBuilder, stage: Stage) -> None:
        space, frame = builder.space, builder.kernel.frame
        assert space.axis is not None
        self._builder, self._stage, self._axis = builder, stage, space.axis
        size = space.size(space.axis).known
        self._lanes = min(LANES, 1 << (size.bit_length() - 1))
        self._steps, self._rest = divmod(size, self._lanes)
        self._end = size - self._lanes
        self._rows = space.access(frame, stage, stage.node.accesses[-1])

    def build(self) -> SSAValue:
        """The ops in order."""
        steps = Part(self._axis, 0, self._lanes, self._steps)
        best, index = self._compete(steps, self._starts(steps))
        if self._rest:
            end = Part(self._axis, self._end, self._lanes)
            best, index = self._compete(end, (best, index))
        return self._winner(best, index)

    def _starts(self, part: Part) -> Sequence[SSAValue]:
        builder, outputs = self._builder, self._stage.node.op.outputs
        loops = (*self._rows, self._axis + 1)
        return [
            builder.filled(output, builder.empty(loops, element_of(output), part))
            for output in outputs
        ]

    def _compete(self, part: Part, starts: Sequence[SSAValue]) -> Sequence[SSAValue]:
        """One op over a part of the axis: best value and index of each lane."""
        builder, stage = self._builder, self._stage
        loops = part.loops((*self._rows, self._axis))
        inputs = [builder.read_part(v, a, stage, part) for v, a in stage.leaves]
        space, frame = builder.space, builder.kernel.frame
        walks = [part.loops(space.access(frame, stage, a)) for _, a in stage.leaves]
        body = self._body(part, loops)
        if not any(self._axis in walk for walk in walks) and part.steps is not None:
            inputs.append(builder.empty((self._axis,), i8, part))  # no input tells the size
            walks.append((self._axis,))
            body.insert_arg(i8, len(walks) - 1)
        lanes = (*self._rows, self._axis + 1)
        kinds = ["reduction" if loop == self._axis else "parallel" for loop in loops]
        op = generic(inputs, starts, body, _maps(loops, [*walks, lanes, lanes]), kinds)
        builder.add(op)
        return op.results

    def _body(self, part: Part, loops: Access) -> Block:
        """The stage's body; the position along the axis is counted in the loops of the part."""
        body = self._builder.body(self._stage, {loop: i for i, loop in enumerate(loops)})
        place = len(self._stage.leaves)
        position = body.args[place]
        lane = index_op(len(loops) - 1)
        ops: list[Operation] = [lane]
        if part.steps is None:
            ops.append(index_constant(part.first))
        else:
            step, lanes = index_op(len(loops) - 2), index_constant(part.lanes)
            ops += [step, lanes, arith.MuliOp(step.result, lanes.results[0])]
        ops.append(arith.AddiOp(ops[-1].results[0], lane.result))
        ops.append(arith.IndexCastOp(ops[-1].results[0], position.type))
        first = body.first_op
        assert first is not None
        body.insert_ops_before(ops, first)
        position.replace_all_uses_with(ops[-1].results[0])
        body.erase_arg(position)
        return body

    def _winner(self, best: SSAValue, index: SSAValue) -> SSAValue:
        """The lowest index among the lanes with the best value of all."""
        builder, stage = self._builder, self._stage
        output = stage.node.op.outputs[0]
        start = builder.filled(output, builder.empty(self._rows, element_of(best)))
        most = self._over_lanes([best], start, _greatest)
        absent = builder.add(arith.ConstantOp(_greatest_integer(element_of(index))))
        target = builder.target(stage)
        start = builder.add(linalg.ops.FillOp([absent], [target], [target.type]))
        return self._over_lanes([best, index, most], start, _lowest)

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


def _greatest(block: Block) -> None:
    """The body of a maximum; no lane holds a NaN."""
    value, most = block.args
    is_integer = isinstance(value.type, IntegerType)
    joined = arith.MaxSIOp(value, most) if is_integer else arith.MaximumfOp(value, most)
    block.add_ops([joined, linalg.ops.YieldOp(joined)])


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
