"""The loop of a fold: a call per layer on pointers into what has a layer axis.

Nothing is copied from layer to layer. A carried value that is kept lies in its stack, where the
layer before has written it; any other is written to two places in turn, so that the last layer
writes to where the result belongs:

    for step in 0 .. L:  if status == 0:
        layer = step, or L - 1 - step
        status = callee(sizes, what the step before wrote, over + layer, whole, where to write)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import DYNAMIC_INDEX, FixedBitwidthType, i32, i64
from xdsl.dialects.builtin import MemRefType as AnyMemRef
from xdsl.ir import Attribute, Block, SSAValue

from kina.dialects.invoke import InvokeLayersOp
from kina.dialects.pointers import MoveOp
from kina.frozen import frozen
from kina.passes.builder import INDEX, Builder
from kina.passes.located import stamp
from kina.passes.scheduling.buffers import Buffers, index_of
from kina.passes.scheduling.graph import element_of, shape_of
from kina.passes.scheduling.held import HOLD, RELEASE
from kina.passes.scheduling.pointers import address, pointed
from kina.passes.scheduling.space import Size
from kina.status import OK

MemRefType = AnyMemRef[Attribute]


@frozen
class _Stack:
    """Where the layers of a tensor lie: the first one's address, and the bytes of each."""

    first: SSAValue
    bytes: SSAValue


@frozen
class _Carried:
    """Where a carried value lies before all layers, between two, and after the last."""

    start: SSAValue
    end: SSAValue
    between: SSAValue | _Stack
    """Its stack if it is kept, else a temporary in turn with `end`."""


@frozen
class _Step:
    """One step of the loop, and where to put what is done while all calls have succeeded."""

    at: Builder
    layer: SSAValue
    next: SSAValue
    """The layer of the next step."""
    is_first: SSAValue
    is_last: SSAValue
    is_odd: SSAValue
    """Whether an odd number of steps follows."""

    def address(self, stack: _Stack, layer: SSAValue) -> SSAValue:
        """Where a layer lies."""
        return self.at.value(MoveOp(stack.first, self.at.value(arith.MuliOp(layer, stack.bytes))))

    def taken(self, value: _Carried) -> SSAValue:
        """Where this step reads a carried value."""
        if isinstance(value.between, _Stack):
            return self.address(value.between, self.layer)
        before = self.at.select(self.is_odd, value.end, value.between)
        return self.at.select(self.is_first, value.start, before)

    def given(self, value: _Carried) -> SSAValue:
        """Where this step writes it."""
        if isinstance(value.between, _Stack):
            return self.at.select(self.is_last, value.end, self.address(value.between, self.next))
        return self.at.select(self.is_odd, value.between, value.end)


class Layers:
    """Writes the loop before `op`; `kinds` are the types of the callee's pointers."""

    def __init__(self, buffers: Buffers, op: InvokeLayersOp, kinds: Sequence[Attribute]) -> None:
        self._buffers, self._op, self._kinds = buffers, op, kinds
        self._at = Builder(op)
        self._layers = index_of(Size.product(shape_of(op.layered[0])[:1]), self._at)
        self._last = self._at.value(
            arith.SubiOp(
                self._at.value(arith.IndexCastOp(self._layers, i64)), self._at.integer(1, i64)
            )
        )

    def emit(self) -> SSAValue:
        """The status of the last call."""
        op, count = self._op, self._op.carried_count
        carried = [self._carried(position) for position in range(count)]
        over = [self._stack(value) for value in op.layered]
        whole = [self._address(value) for value in op.inputs[count + len(over) :]]
        stacked = [
            self._stack(made) for made in op.made[count : len(op.made) - len(op.kept_values)]
        ]
        loop = Block(arg_types=[INDEX, i32])
        step = self._step(loop)
        pointers = [
            *(step.taken(value) for value in carried),
            *(step.address(stack, step.layer) for stack in over),
            *whole,
            *(step.given(value) for value in carried),
            *(step.address(stack, step.layer) for stack in stacked),
        ]
        arguments = [self._typed(step, *pair) for pair in zip(pointers, self._kinds, strict=True)]
        call = func.CallOp(op.callee, [*op.sizes, *arguments], [i32])
        stamp(call, op)
        step.at.append(scf.YieldOp(step.at.value(call)))
        return self._loop(loop, step.at.block)

    def _loop(self, loop: Block, then: Block) -> SSAValue:
        """Steps while the status is 0; a layer's temporaries are those of the one before it."""
        body, status = Builder(loop), loop.args[1]
        holds = body.compare("eq", status, body.integer(OK, i32))
        otherwise = Block([scf.YieldOp(status)])
        body.append(scf.YieldOp(body.value(scf.IfOp(holds, [i32], [then], [otherwise]))))
        start, one = self._at.index(0), self._at.index(1)
        success = self._at.integer(OK, i32)
        self._at.append(func.CallOp(HOLD, [], []))
        last = self._at.value(scf.ForOp(start, self._layers, one, [success], loop))
        self._at.append(func.CallOp(RELEASE, [], []))
        return last

    def _step(self, loop: Block) -> _Step:
        at = Builder(Block())
        zero, one = at.integer(0, i64), at.integer(1, i64)
        step = at.value(arith.IndexCastOp(loop.args[0], i64))
        rest = at.value(arith.SubiOp(self._last, step))
        odd = at.compare("ne", at.value(arith.AndIOp(rest, one)), zero)
        reverse = self._op.reverse is not None
        layer = rest if reverse else step
        following = at.value((arith.SubiOp if reverse else arith.AddiOp)(layer, one))
        first, last = (at.compare("eq", value, zero) for value in (step, rest))
        return _Step(at, layer, following, first, last, odd)

    def _carried(self, position: int) -> _Carried:
        op, kept = self._op, self._op.kept_values
        start, made = op.inputs[position], op.made[position]
        if position not in kept:
            between = address(self._buffers.temporary(made), self._at)
            return _Carried(self._address(start), self._address(made), between)
        stack = self._stack(op.made[len(op.made) - len(kept) + list(kept).index(position)])
        self._copy(start, stack)
        return _Carried(self._address(start), self._address(made), stack)

    def _copy(self, start: SSAValue, stack: _Stack) -> None:
        """Puts the carried value into the layer that takes it first."""
        target = stack.first
        if self._op.reverse is not None:
            offset = self._at.value(arith.MuliOp(self._last, stack.bytes))
            target = self._at.value(MoveOp(target, offset))
        memory = pointed(target, element_of(start), self._at)
        source, to = (self._flat(p, start) for p in (self._buffers.pointer(start), memory))
        self._at.append(memref.CopyOp(source, to))

    def _flat(self, pointer: SSAValue, like: SSAValue) -> SSAValue:
        """`pointer` as a memref of one dimension, with as many elements as a tensor has."""
        size = Size.product(shape_of(like))
        sizes = [index_of(size, self._at)] if size.factors else []
        kind = MemRefType(element_of(like), [size.static])
        return self._at.value(
            memref.ReinterpretCastOp(pointer, [], sizes, [], [0], [size.static], [1], kind)
        )

    def _stack(self, value: SSAValue) -> _Stack:
        element = element_of(value)
        assert isinstance(element, FixedBitwidthType)
        size = Size.product(shape_of(value)[1:])
        in_bytes = index_of(Size(size.known * element.size, size.factors), self._at)
        return _Stack(self._address(value), self._at.value(arith.IndexCastOp(in_bytes, i64)))

    def _address(self, value: SSAValue) -> SSAValue:
        return address(self._buffers.pointer(value), self._at)

    def _typed(self, step: _Step, pointer: SSAValue, kind: Attribute) -> SSAValue:
        """An address as the callee takes it: with a shape where that is known there."""
        wanted = cast(MemRefType, kind)
        bare = pointed(pointer, wanted.element_type, step.at)
        if bare.type == wanted:
            return bare
        shape = wanted.get_shape()
        strides = [Size.product(shape[axis + 1 :]).known for axis in range(len(shape))]
        assert DYNAMIC_INDEX not in shape
        return step.at.value(
            memref.ReinterpretCastOp(bare, [], [], [], [0], shape, strides, wanted)
        )
