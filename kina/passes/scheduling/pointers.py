"""Bare pointers in LLVM's terms, for what memrefs of run-time offset cannot be: an argument in C.

`memref<T>` is `struct<(ptr, ptr, i64)>`, of which the second pointer is all that counts.
"""

from __future__ import annotations

from xdsl.dialects.builtin import MemRefType, UnrealizedConversionCastOp, i64
from xdsl.ir import Attribute, SSAValue

from kina.dialects.pointers import (
    POINTER,
    ConstantOp,
    ExtractValueOp,
    InsertValueOp,
    UndefOp,
    struct_of,
)
from kina.passes.builder import Builder

_DESCRIPTOR = struct_of([POINTER, POINTER, i64])


def address(memref: SSAValue, at: Builder) -> SSAValue:
    """Where a `memref<T>` points to."""
    return at.value(ExtractValueOp(at.value(_cast(memref, _DESCRIPTOR)), 1, POINTER))


def pointed(pointer: SSAValue, element: Attribute, at: Builder) -> SSAValue:
    """The `memref<T>` of an address."""
    zero = at.value(ConstantOp(0))
    descriptor = at.value(UndefOp(_DESCRIPTOR))
    for number, part in enumerate((pointer, pointer, zero)):
        descriptor = at.value(InsertValueOp(descriptor, number, part))
    return at.value(_cast(descriptor, MemRefType(element, [])))


def _cast(value: SSAValue, kind: Attribute) -> UnrealizedConversionCastOp:
    return UnrealizedConversionCastOp.create(operands=[value], result_types=[kind])
