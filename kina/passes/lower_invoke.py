"""`lower-invoke`: `kina.invoke` becomes `func.call` on pointers, its results tensors in memory.

For plain loops; `schedule-cpu` does the same where it knows the memory of every tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects import bufferization, func, memref, tensor
from xdsl.dialects.builtin import MemRefType, ModuleOp, UnitAttr, i32
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.traits import SymbolTable

from kina.dialects.invoke import InvokeOp
from kina.dialects.types import IRTensor
from kina.passes.located import stamp


def pointer_types(op: InvokeOp) -> Sequence[Attribute]:
    """The types of the pointers that the callee takes: inputs, then outputs."""
    callee = SymbolTable.lookup_symbol(op, op.callee)
    assert isinstance(callee, FuncOp)
    return callee.function_type.inputs.data[len(op.sizes) :]


def _lower(op: InvokeOp) -> None:
    def insert(new: Operation) -> SSAValue:
        stamp(new, op)
        Rewriter.insert_op(new, InsertPoint.before(op))
        return new.results[0]

    buffers: list[SSAValue] = []
    for value in op.inputs:
        view = bufferization.ToBufferOp.create(
            operands=[value], result_types=[_memref(value)], properties={"read_only": UnitAttr()}
        )
        buffers.append(insert(view))
    outs = [insert(_alloc(out)) for out in op.outs]
    pointers = [
        buffer if buffer.type == kind else insert(_forgotten(buffer))
        for buffer, kind in zip([*buffers, *outs], pointer_types(op), strict=True)
    ]
    status = insert(func.CallOp(op.callee, [*op.sizes, *pointers], [i32]))
    made = [insert(bufferization.ToTensorOp(out, True, True)) for out in outs]
    Rewriter.replace_op(op, [], [status, *made])


def _memref(value: SSAValue) -> MemRefType[Attribute]:
    kind = cast(IRTensor, value.type)
    return MemRefType(kind.element_type, kind.get_shape())


def _alloc(out: SSAValue) -> Operation:
    empty = out.owner
    assert isinstance(empty, tensor.EmptyOp)
    kind = _memref(out)
    return memref.AllocOp.get(kind.element_type, 64, kind.get_shape(), list(empty.dynamic_sizes))


def _forgotten(buffer: SSAValue) -> Operation:
    """The memref as a bare pointer, without its shape."""
    kind = MemRefType(cast(MemRefType[Attribute], buffer.type).element_type, [])
    return memref.ReinterpretCastOp(buffer, [], [], [], [0], [], [], kind)


@dataclass(frozen=True)
class LowerInvoke(ModulePass):
    """Runs after assert-to-status, where schedule-cpu does not."""

    name = "lower-invoke"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites the module in place."""
        for invoke in [item for item in op.walk() if isinstance(item, InvokeOp)]:
            _lower(invoke)
