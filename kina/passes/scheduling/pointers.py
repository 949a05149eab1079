"""Bare pointers in LLVM's terms, for what memrefs of run-time offset cannot be: an argument in C.

`memref<T>` is `struct<(ptr, ptr, i64)>`, of which the second pointer is all that counts.
"""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    DenseArrayBase,
    IntegerAttr,
    MemRefType,
    UnrealizedConversionCastOp,
    i64,
)
from xdsl.ir import Attribute, SSAValue

from kina.passes.builder import Builder

POINTER = llvm.LLVMPointerType()
_DESCRIPTOR = llvm.LLVMStructType.from_type_list([POINTER, POINTER, i64])


def address(memref: SSAValue, at: Builder) -> SSAValue:
    """Where a `memref<T>` points to."""
    return at.value(field(at.value(_cast(memref, _DESCRIPTOR)), 1, POINTER))


def pointed(pointer: SSAValue, element: Attribute, at: Builder) -> SSAValue:
    """The `memref<T>` of an address."""
    zero = at.value(llvm.ConstantOp(IntegerAttr(0, i64), i64))
    descriptor = at.value(llvm.UndefOp(_DESCRIPTOR))
    for number, part in enumerate((pointer, pointer, zero)):
        descriptor = at.value(with_field(descriptor, number, part))
    return at.value(_cast(descriptor, MemRefType(element, [])))


def _cast(value: SSAValue, kind: Attribute) -> UnrealizedConversionCastOp:
    return UnrealizedConversionCastOp.create(operands=[value], result_types=[kind])


def with_field(struct: SSAValue, number: int, value: SSAValue) -> llvm.InsertValueOp:
    """The op that writes a field of a struct."""
    return llvm.InsertValueOp(DenseArrayBase.from_list(i64, [number]), struct, value)


def field(struct: SSAValue, number: int, kind: Attribute) -> llvm.ExtractValueOp:
    """The op that reads a field of a struct."""
    return llvm.ExtractValueOp(DenseArrayBase.from_list(i64, [number]), struct, kind)
