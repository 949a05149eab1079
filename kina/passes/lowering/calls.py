"""Calls between functions: the same call on plain tensors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith, func, tensor
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute, Operation, SSAValue

from kina.dialects.call import CallOp
from kina.dialects.callee import kina_types
from kina.dialects.types import IRTensor, from_ir
from kina.passes.builder import Builder
from kina.passes.lowering.context import Lowering
from kina.passes.lowering.storage import storage_type
from kina.rules.calls import bind
from kina.types import Dim

SIZES = "symbol_sizes"
"""The attribute of a call with the caller's dimension for each symbol of the callee."""


def lower_call(state: Lowering, op: CallOp | func.CallOp) -> None:
    """Lower to `func.call`, with a `tensor.cast` where a symbol meets a known size."""
    name = op.callee.string_value()
    callee = state.callees[name]
    types = kina_types(callee.inputs.data)
    inputs = [storage_type(type_) for type_ in types]
    outputs = [storage_type(from_ir(type_)) for type_ in callee.outputs]
    arguments = [
        cast_to(state.builder, state.value(operand), type_)
        for operand, type_ in zip(op.operands, inputs, strict=True)
    ]
    given = op.size_values if isinstance(op, CallOp) else ()
    sizes = dict(zip(state.size_parameters[name], given, strict=True))
    arguments += [
        state.builder.value(arith.IndexCastOp(state.size(dim), i64)) for dim in sizes.values()
    ]
    call = state.builder.append(func.CallOp(op.callee, arguments, outputs))
    binding = bind(name, types, kina_types(op.operand_types), sizes)
    name_sizes(state, call, [*sizes, *(s for type_ in types for s in type_.symbols)], binding)
    # Each is computed on entry, for the call in C.
    state.dynamic([d for t in op.result_types for d in from_ir(t).dims])
    for old, new in zip(op.results, call.results, strict=True):
        state.bind(old, cast_to(state.builder, new, storage_type(from_ir(old.type))))


def name_sizes(
    state: Lowering, call: Operation, symbols: Sequence[str], binding: Mapping[str, Dim]
) -> None:
    """Write down what the callee's symbols are, if it has any."""
    if symbols:
        found = dict.fromkeys(symbols)
        call.attributes[SIZES] = ArrayAttr(_dim(binding[symbol]) for symbol in found)
        # Each is computed on entry, for the call in C.
        state.dynamic(list(binding.values()))


def _dim(dim: Dim) -> Attribute:
    return StringAttr(dim) if isinstance(dim, str) else IntegerAttr(dim, i64)


def cast_to(builder: Builder, value: SSAValue, type_: IRTensor) -> SSAValue:
    """`value` as a tensor of a type that knows more of its sizes, or fewer."""
    return value if value.type == type_ else builder.value(tensor.CastOp(value, type_))
