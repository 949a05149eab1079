"""`inline-calls`: every call between functions becomes the callee's body.

A body that comes in takes the caller's dimensions for the callee's symbols and keeps the callee's
locations, so a failed check still names the line that holds it. Checks stay in program order,
also those of calls whose results nobody uses. All functions stay, the private ones too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import FlatSymbolRefAttr, ModuleOp
from xdsl.dialects.func import CallOp as FuncCallOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from kina.dialects.call import CallOp, call_binding, substitute_ir
from kina.dialects.indexing import CheckIndicesOp
from kina.dialects.types import IRTensor, from_ir
from kina.errors import KinaTypeError
from kina.passes.callees_first import CalleesFirst
from kina.types import Dim

CALLS = (CallOp, FuncCallOp)


class _Inliner(CalleesFirst):
    """Inlines into the functions of one module."""

    pass_name = "inline-calls"
    users = CALLS

    def callee_name(self, op: Operation) -> str:
        """The function that is called."""
        return cast(FlatSymbolRefAttr, op.properties["callee"]).string_value()

    def replace(self, op: Operation, callee: FuncOp) -> None:
        """Put a copy of the callee's body in place of the call."""
        results = insert_body(callee, op.operands, _bind(op, callee), op)
        Rewriter.replace_op(op, [], results)


def insert_body(
    callee: FuncOp, arguments: Sequence[SSAValue], binding: dict[str, Dim], before: Operation
) -> list[SSAValue]:
    """A copy of the callee's body on these arguments, in front of `before`; what it returns."""
    values: dict[SSAValue, SSAValue] = dict(zip(callee.args, arguments, strict=True))
    returned: list[SSAValue] = []
    for op in callee.body.block.ops:
        if isinstance(op, ReturnOp):
            returned = [values[operand] for operand in op.operands]
        else:
            Rewriter.insert_op(_copy(op, values, binding), InsertPoint.before(before))
    return returned


def _bind(call: Operation, callee: FuncOp) -> dict[str, Dim]:
    """The call's binding, which must cover every symbol of the body."""
    binding = call_binding(call, callee)
    symbols = {
        symbol
        for op in callee.body.block.ops
        for type_ in op.result_types
        for symbol in from_ir(type_).symbols
    }
    if unbound := sorted(symbols - binding.keys()):
        raise KinaTypeError(
            f"inline-calls: @{callee.sym_name.data} has the symbol {unbound[0]} in its body, "
            "expected only symbols of its parameters"
        )
    return binding


def _copy(op: Operation, values: dict[SSAValue, SSAValue], binding: dict[str, Dim]) -> Operation:
    """`op` on the caller's values. Symbols stand in result types, and in a check's size."""
    operands = [values[operand] for operand in op.operands]
    if isinstance(op, CheckIndicesOp):
        size = op.size_value
        bound = binding[size] if isinstance(size, str) else size
        check = CheckIndicesOp(operands[0], op.axis_value, bound)
        check.location = op.location
        return check
    types = [substitute_ir(cast(IRTensor, type_), binding) for type_ in op.result_types]
    copy = type(op).create(
        operands=operands,
        result_types=types,
        attributes=dict(op.attributes),
        properties=dict(op.properties),
        location=op.location,
    )
    for old, new in zip(op.results, copy.results, strict=True):
        new.name_hint = old.name_hint
        values[old] = new
    return copy


@dataclass(frozen=True)
class InlineCalls(ModulePass):
    """Inlines `kina.call` and `func.call` on kina IR; nested calls and several results included.

    Raises KinaTypeError for a recursive call and for a callee without a body.
    """

    name = "inline-calls"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites the module in place."""
        _Inliner.run(op)
