"""Calls between functions. `func.call` wants equal types; here the callee's symbols are bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import FlatSymbolRefAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.irdl import irdl_op_definition, traits_def

from kina.dialects.base import Value
from kina.dialects.callee import (
    CalleeOp,
    CalleeUse,
    given_sizes,
    kina_types,
    sizes_attribute,
    symbol,
)
from kina.dialects.types import IRTensor, from_ir, to_ir
from kina.rules.calls import bind, substitute
from kina.types import Dim, TensorType


def call_binding(op: Operation, callee: FuncOp) -> dict[str, Dim]:
    """The callee's symbols as the caller's dimensions; a `RuleError` if an operand does not fit."""
    inputs = kina_types(callee.function_type.inputs.data)
    name, sizes = callee.sym_name.data, given_sizes(op, callee)
    return bind(name, inputs, kina_types(op.operand_types), sizes)


def substitute_ir(type_: IRTensor, binding: Mapping[str, Dim]) -> IRTensor:
    """An IR tensor type with its symbols replaced."""
    return to_ir(substitute(from_ir(type_), binding))


@irdl_op_definition
class CallOp(CalleeOp):
    """A call of a function of the module.

    Every symbol of the callee stands for one dimension of the caller; `sizes` are those for the
    callee's `size` parameters.
    """

    name = "kina.call"

    assembly_format = (
        "$callee `(` $arguments `)` (`sizes` $sizes^)? attr-dict `:` "
        "functional-type($arguments, $outputs)"
    )

    traits = traits_def(CalleeUse())

    def __init__(
        self,
        callee: str | FlatSymbolRefAttr,
        arguments: Sequence[Value],
        result_types: Sequence[IRTensor],
        sizes: Sequence[Dim] = (),
    ) -> None:
        super().__init__(
            operands=[arguments],
            properties={"callee": symbol(callee), "sizes": sizes_attribute(sizes)},
            result_types=[result_types],
        )

    def expected_results(self, callee: FuncOp) -> Sequence[TensorType]:
        """The callee's results."""
        binding = call_binding(self, callee)
        outputs = kina_types(callee.function_type.outputs.data)
        return [substitute(output, binding) for output in outputs]
