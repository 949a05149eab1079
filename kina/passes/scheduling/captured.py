"""What a function of a team needs from its caller: one struct, written there and read here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, MemRefType, i64
from xdsl.ir import Attribute, Block, Operation, SSAValue

from kina.dialects.pointers import (
    POINTER,
    AllocaOp,
    ConstantOp,
    ExtractValueOp,
    InsertValueOp,
    LoadOp,
    StoreOp,
    UndefOp,
    struct_of,
)
from kina.passes.builder import INDEX, Builder
from kina.passes.scheduling.buffers import Buffers
from kina.passes.scheduling.pointers import address, pointed

_ALIGNMENT = 8


class Captured:
    """The values that `body` uses and does not define; constants are copied into it instead."""

    def __init__(self, body: Block) -> None:
        self._body = body
        outside = dict.fromkeys(_outside(body))
        self._constants = [v for v in outside if isinstance(v.owner, arith.ConstantOp)]
        self._values = [v for v in outside if v not in self._constants]
        self._struct = struct_of([_stored(v.type) for v in self._values])

    def pack(self, buffers: Buffers, at: Builder) -> SSAValue:
        """The address of a struct with the values.

        The struct lies in the frame that the function has on entry, whatever branch this is.
        """
        packed = at.value(UndefOp(self._struct))
        for number, value in enumerate(self._values):
            packed = at.value(InsertValueOp(packed, number, _to_stored(value, at)))
        one = buffers.in_frame(ConstantOp(1))
        place = buffers.in_frame(AllocaOp(one, self._struct, _ALIGNMENT))
        at.append(StoreOp(packed, place))
        return place

    def unpack(self, place: SSAValue) -> None:
        """Makes the body take the values from the struct at `place`."""
        first = self._body.first_op
        assert first is not None
        at = Builder(first)
        inside: dict[SSAValue, SSAValue] = {
            value: at.value(value.owner.clone())
            for value in self._constants
            if isinstance(value.owner, Operation)
        }
        if self._values:
            packed = at.value(LoadOp(place, self._struct))
            for number, value in enumerate(self._values):
                stored = at.value(ExtractValueOp(packed, number, _stored(value.type)))
                inside[value] = _from_stored(stored, value.type, at)
        for op in self._body.walk():
            for number, operand in enumerate(op.operands):
                op.operands[number] = inside.get(operand, operand)


def _outside(body: Block) -> Iterator[SSAValue]:
    defined: set[SSAValue] = set(body.args)
    for op in body.walk():
        defined.update(op.results)
        defined.update(
            arg for region in op.regions for block in region.blocks for arg in block.args
        )
    for op in body.walk():
        yield from (operand for operand in op.operands if operand not in defined)


def _is_memref(kind: Attribute) -> bool:
    return isinstance(kind, MemRefType)


def _stored(kind: Attribute) -> Attribute:
    if _is_memref(kind):
        return POINTER
    return i64 if isinstance(kind, IndexType) else kind


def _to_stored(value: SSAValue, at: Builder) -> SSAValue:
    if isinstance(value.type, IndexType):
        return at.value(arith.IndexCastOp(value, i64))
    if not _is_memref(value.type):
        return value
    return address(value, at)


def _from_stored(stored: SSAValue, kind: Attribute, at: Builder) -> SSAValue:
    if isinstance(kind, IndexType):
        return at.value(arith.IndexCastOp(stored, INDEX))
    if not _is_memref(kind):
        return stored
    return pointed(stored, cast(MemRefType[Attribute], kind).element_type, at)
