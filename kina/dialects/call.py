"""Calls between functions. `func.call` wants equal types; here the callee's symbols are bound."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FlatSymbolRefAttr, FlatSymbolRefAttrConstr, SymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.traits import SymbolTable, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from kina.calls import bind, substitute
from kina.dialects.base import TENSOR, Value
from kina.dialects.types import IRTensor, from_ir, to_ir
from kina.rules import RuleError
from kina.types import Dim


def call_binding(op: Operation, callee: FuncOp) -> dict[str, Dim]:
    """The callee's symbols as the caller's dimensions; a `RuleError` if an operand does not fit."""
    inputs = [from_ir(type_) for type_ in callee.function_type.inputs]
    return bind(callee.sym_name.data, inputs, [from_ir(type_) for type_ in op.operand_types])


def substitute_ir(type_: IRTensor, binding: dict[str, Dim]) -> IRTensor:
    """An IR tensor type with its symbols replaced."""
    return to_ir(substitute(from_ir(type_), binding))


class CallSymbolUse(SymbolUserOpInterface):
    """Verifies a call against its callee."""

    def verify(self, op: Operation) -> None:
        """The operands bind the callee's symbols, and the results follow."""
        assert isinstance(op, CallOp)
        name = op.callee.string_value()
        callee = SymbolTable.lookup_symbol(op, op.callee)
        if not isinstance(callee, FuncOp):
            raise VerifyException(f"call: no function is called {name}")
        try:
            binding = call_binding(op, callee)
            outputs = [from_ir(type_) for type_ in callee.function_type.outputs]
            expected = [substitute(output, binding) for output in outputs]
        except RuleError as error:
            raise VerifyException(f"call: {error.message}") from error
        results = [from_ir(type_) for type_ in op.result_types]
        if results != expected:
            raise VerifyException(
                f"call: {name} gives ({', '.join(map(str, expected))}) here, "
                f"but the results have types ({', '.join(map(str, results))})"
            )


@irdl_op_definition
class CallOp(IRDLOperation):
    """A call of a function of the module; a tuple comes back as several results.

    Every symbol of the callee stands for one dimension of the caller: an integer or one of the
    caller's own symbols.
    """

    name = "kina.call"

    callee = prop_def(FlatSymbolRefAttrConstr)
    arguments = var_operand_def(TENSOR)
    outputs = var_result_def(TENSOR)
    assembly_format = (
        "$callee `(` $arguments `)` attr-dict `:` functional-type($arguments, $outputs)"
    )

    traits = traits_def(CallSymbolUse())

    def __init__(
        self,
        callee: str | FlatSymbolRefAttr,
        arguments: Sequence[Value],
        result_types: Sequence[IRTensor],
    ) -> None:
        symbol = SymbolRefAttr(callee) if isinstance(callee, str) else callee
        super().__init__(
            operands=[arguments], properties={"callee": symbol}, result_types=[result_types]
        )
