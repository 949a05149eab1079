"""What a function of a team needs from its caller: one struct, written there and read here.

Whoever wants pointers of memrefs in a struct has to name their LLVM form: `memref<T>` is
`struct<(ptr, ptr, i64)>`, of which the second pointer is all that counts.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith, llvm
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IndexType,
    IntegerAttr,
    MemRefType,
    UnrealizedConversionCastOp,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from kina.passes.builder import INDEX, Builder
from kina.passes.scheduling.buffers import Buffers

POINTER = llvm.LLVMPointerType()
_DESCRIPTOR = llvm.LLVMStructType.from_type_list([POINTER, POINTER, i64])
_ALIGNMENT = 8


class Captured:
    """The values that `body` uses and does not define; constants are copied into it instead."""

    def __init__(self, body: Block) -> None:
        self._body = body
        outside = dict.fromkeys(_outside(body))
        self._constants = [v for v in outside if isinstance(v.owner, arith.ConstantOp)]
        self._values = [v for v in outside if v not in self._constants]
        self._struct = llvm.LLVMStructType.from_type_list([_stored(v.type) for v in self._values])

    def pack(self, buffers: Buffers, at: Builder) -> SSAValue:
        """The address of a struct with the values.

        The struct lies in the frame that the function has on entry, whatever branch this is.
        """
        packed = at.value(llvm.UndefOp(self._struct))
        for number, value in enumerate(self._values):
            packed = at.value(_put(packed, number, _to_stored(value, at)))
        one = buffers.on_entry(llvm.ConstantOp(IntegerAttr(1, i64), i64))
        address = buffers.on_entry(llvm.AllocaOp(one, self._struct, _ALIGNMENT))
        at.append(llvm.StoreOp(packed, address))
        return address

    def unpack(self, address: SSAValue) -> None:
        """Makes the body take the values from the struct at `address`."""
        first = self._body.first_op
        assert first is not None
        at = Builder(first)
        inside: dict[SSAValue, SSAValue] = {
            value: at.value(value.owner.clone())
            for value in self._constants
            if isinstance(value.owner, Operation)
        }
        if self._values:
            packed = at.value(llvm.LoadOp(address, self._struct))
            for number, value in enumerate(self._values):
                stored = at.value(_get(packed, number, _stored(value.type)))
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
    return at.value(_get(at.value(_cast(value, _DESCRIPTOR)), 1, POINTER))


def _from_stored(stored: SSAValue, kind: Attribute, at: Builder) -> SSAValue:
    if isinstance(kind, IndexType):
        return at.value(arith.IndexCastOp(stored, INDEX))
    if not _is_memref(kind):
        return stored
    zero = at.value(llvm.ConstantOp(IntegerAttr(0, i64), i64))
    descriptor = at.value(llvm.UndefOp(_DESCRIPTOR))
    for number, part in enumerate((stored, stored, zero)):
        descriptor = at.value(_put(descriptor, number, part))
    return at.value(_cast(descriptor, kind))


def _cast(value: SSAValue, kind: Attribute) -> UnrealizedConversionCastOp:
    return UnrealizedConversionCastOp.create(operands=[value], result_types=[kind])


def _put(struct: SSAValue, number: int, value: SSAValue) -> llvm.InsertValueOp:
    return llvm.InsertValueOp(DenseArrayBase.from_list(i64, [number]), struct, value)


def _get(struct: SSAValue, number: int, kind: Attribute) -> llvm.ExtractValueOp:
    return llvm.ExtractValueOp(DenseArrayBase.from_list(i64, [number]), struct, kind)
