"""Calls of other functions: on the memory that their tensors have in the caller."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import bufferization, func
from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, Block, SSAValue
from xdsl.traits import SymbolTable

from kina.dialects.invoke import Invocation, InvokeLayersOp
from kina.passes.assert_to_status import SETTLED, messages_of
from kina.passes.builder import Builder
from kina.passes.export_c import read_checked
from kina.passes.located import stamp
from kina.passes.scheduling.buffers import Buffers
from kina.passes.scheduling.graph import owner


def pointer_types(op: Invocation) -> Sequence[Attribute]:
    """The types of the pointers that the callee takes: inputs, then outputs."""
    callee = SymbolTable.lookup_symbol(op, op.callee)
    assert isinstance(callee, func.FuncOp)
    return callee.function_type.inputs.data[len(op.sizes) :]


def place_results(function: func.FuncOp, buffers: Buffers) -> None:
    """What calls write is stored once: in a temporary, or in an output of the caller.

    In an output only by a call that no check of an index comes after: where one fails, the
    outputs are as they were.
    """
    for op in list(function.walk()):
        if isinstance(op, bufferization.MaterializeInDestinationOp):
            source, call = op.source, owner(op.source)
            if isinstance(call, Invocation) and _is_settled(call) and source not in buffers:
                buffers.store_in(source, op.dest)
                op.detach()
                op.erase()
    for op in function.walk():
        if isinstance(op, Invocation):
            buffers.computed.update(op.made)


def _is_settled(call: Invocation) -> bool:
    """Whether no index can be found to be bad once the call has begun to write.

    A layer of a fold may fail after the one before it has written, if its checks depend on what
    changes from layer to layer.
    """
    if SETTLED not in call.attributes:
        return False
    if not isinstance(call, InvokeLayersOp):
        return True
    callee = SymbolTable.lookup_symbol(call, call.callee)
    assert isinstance(callee, func.FuncOp)
    changing = call.carried_count + len(call.layered)
    return not messages_of(callee) or all(at >= changing for at in read_checked(callee))


def lower_invocations(block: Block, buffers: Buffers) -> None:
    """Each call, with pointers; what reads its results from here on reads memory."""
    for op in [op for op in block.ops if isinstance(op, Invocation)]:
        op.status.replace_all_uses_with(_call(buffers, op))
        after = op.next_op
        assert after is not None
        for made in op.made:
            if made.uses:
                made.replace_all_uses_with(buffers.tensor(made, Builder(after)))
        op.detach()
        op.erase()


def _call(buffers: Buffers, op: Invocation) -> SSAValue:
    """The status of the call, or of the loop of calls, that is put before `op`."""
    if isinstance(op, InvokeLayersOp):
        # Deals in LLVM's pointers: only loaded by a program that has a fold.
        from kina.passes.scheduling.layers import Layers

        return Layers(buffers, op, pointer_types(op)).emit()
    at = Builder(op)
    pointers = [
        _passed(buffers, value, kind, at)
        for value, kind in zip([*op.inputs, *op.made], pointer_types(op), strict=True)
    ]
    call = func.CallOp(op.callee, [*op.sizes, *pointers], [i32])
    stamp(call, op)
    return at.value(call)


def _passed(buffers: Buffers, value: SSAValue, kind: Attribute, at: Builder) -> SSAValue:
    """The memory of a tensor as the callee takes it: with its shape where that is known there."""
    pointer = buffers.pointer(value)
    return pointer if pointer.type == kind else buffers.shaped(pointer, value, at)
