"""Calls between functions: the same call on plain tensors."""

from __future__ import annotations

from xdsl.dialects import func, tensor
from xdsl.ir import SSAValue

from kina.dialects.call import CallOp
from kina.dialects.types import IRTensor, from_ir
from kina.passes.lowering.context import Lowering
from kina.passes.lowering.storage import storage_type


def lower_call(state: Lowering, op: CallOp | func.CallOp) -> None:
    """Lower to `func.call`, with a `tensor.cast` where a symbol meets a known size."""
    callee = state.callees[op.callee.string_value()]
    inputs = [storage_type(from_ir(type_)) for type_ in callee.inputs]
    outputs = [storage_type(from_ir(type_)) for type_ in callee.outputs]
    arguments = [
        _cast(state, state.value(operand), type_)
        for operand, type_ in zip(op.operands, inputs, strict=True)
    ]
    call = state.builder.append(func.CallOp(op.callee, arguments, outputs))
    for old, new in zip(op.results, call.results, strict=True):
        state.bind(old, _cast(state, new, storage_type(from_ir(old.type))))


def _cast(state: Lowering, value: SSAValue, type_: IRTensor) -> SSAValue:
    return value if value.type == type_ else state.builder.value(tensor.CastOp(value, type_))
