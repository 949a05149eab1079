"""A fold: a loop over layers that calls the function on slices."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func, scf, tensor
from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType
from xdsl.ir import Block, SSAValue

from kina.dialects.callee import kina_types
from kina.dialects.fold import FoldOp
from kina.dialects.types import from_ir
from kina.passes.builder import Builder
from kina.passes.lowering.calls import cast_to, name_sizes
from kina.passes.lowering.context import Lowering
from kina.passes.lowering.storage import storage_type
from kina.rules.folds import layer_of
from kina.types import Dim


def lower_fold(state: Lowering, op: FoldOp) -> None:
    """Lower to `scf.for`: what is carried and the stacks are its values."""
    name = op.callee.string_value()
    callee = state.callees[name]
    inputs, outputs = kina_types(callee.inputs.data), kina_types(callee.outputs.data)
    carried = [state.value(value) for value in op.carried]
    stacks = [state.empty_like(from_ir(value.type)) for value in op.outputs[len(carried) :]]
    layers = state.size(op.layers)
    start, one = state.builder.index(0), state.builder.index(1)
    block = Block(arg_types=[IndexType(), *(value.type for value in (*carried, *stacks))])
    body = Builder(block, op.location)
    layer = _layer(body, layers, one, reverse=op.reverse is not None)
    taken = list(block.args[1 : 1 + len(carried)])
    arguments = [
        *taken,
        *(_take(state, body, value, layer) for value in op.over),
        *(state.value(value) for value in op.whole),
    ]
    casts = [
        cast_to(body, argument, storage_type(type_))
        for argument, type_ in zip(arguments, inputs, strict=True)
    ]
    call = func.CallOp(op.callee, casts, [storage_type(type_) for type_ in outputs])
    body.append(call)
    symbols = [symbol for type_ in inputs for symbol in type_.symbols]
    name_sizes(state, call, symbols, op.types.bind(name, inputs))
    given = _given(op, body, call)
    kept = [taken[position] for position in op.kept_values]
    layered = [*given[len(carried) :], *kept]
    after = [
        _put(state, body, value, stack, layer_of(from_ir(result.type)).dims, layer)
        for value, stack, result in zip(
            layered, block.args[1 + len(carried) :], op.outputs[len(carried) :], strict=True
        )
    ]
    body.append(scf.YieldOp(*given[: len(carried)], *after))
    loop = scf.ForOp(start, layers, one, [*carried, *stacks], block)
    state.builder.append(loop)
    for old, new in zip(op.outputs, loop.results, strict=True):
        state.bind(old, new)


def _layer(body: Builder, layers: SSAValue, one: SSAValue, *, reverse: bool) -> SSAValue:
    """The layer of an iteration."""
    if not reverse:
        return body.block.args[0]
    last = body.value(arith.SubiOp(layers, one))
    return body.value(arith.SubiOp(last, body.block.args[0]))


def _given(op: FoldOp, body: Builder, call: func.CallOp) -> list[SSAValue]:
    """What the call gives, of the types that the caller knows."""
    types = [from_ir(value.type) for value in op.carried]
    types += [layer_of(from_ir(value.type)) for value in op.stacked]
    return [
        cast_to(body, result, storage_type(type_))
        for result, type_ in zip(call.results, types, strict=True)
    ]


def _take(state: Lowering, body: Builder, stack: SSAValue, layer: SSAValue) -> SSAValue:
    """One layer of a tensor."""
    dims = layer_of(from_ir(stack.type)).dims
    sizes = [1, *(state.size(dim) if isinstance(dim, str) else dim for dim in dims)]
    offsets, strides = [layer, *[0] * len(dims)], [1] * len(sizes)
    type_ = storage_type(layer_of(from_ir(stack.type)))
    return body.value(tensor.ExtractSliceOp(state.value(stack), offsets, sizes, strides, type_))


def _put(
    state: Lowering,
    body: Builder,
    value: SSAValue,
    stack: SSAValue,
    dims: Sequence[Dim],
    at: SSAValue,
) -> SSAValue:
    """A stack of tensors of these dimensions with the layer `at` written."""
    sizes = [1, *(DYNAMIC_INDEX if isinstance(dim, str) else dim for dim in dims)]
    insertion = tensor.InsertSliceOp.get(
        value, stack, sizes, offsets=[at], sizes=state.dynamic(dims)
    )
    return body.value(insertion)
