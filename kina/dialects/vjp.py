"""`kina.vjp`: a function and its gradients in one operation, until `transform-ad` expands it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    I64,
    DenseArrayBase,
    FlatSymbolRefAttr,
    FlatSymbolRefAttrConstr,
    SymbolRefAttr,
    i64,
)
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
from kina.dialects.types import IRTensor, from_ir
from kina.gradients import vjp_operands, vjp_results
from kina.rules import RuleError
from kina.types import Dim


def vjp_binding(op: VjpOp, callee: FuncOp) -> dict[str, Dim]:
    """The callee's symbols as the caller's dimensions; a `RuleError` if an operand does not fit."""
    inputs = [from_ir(type_) for type_ in callee.function_type.inputs]
    outputs = [from_ir(type_) for type_ in callee.function_type.outputs]
    operands = [from_ir(type_) for type_ in op.operand_types]
    return bind(f"vjp of {callee.sym_name.data}", vjp_operands(inputs, outputs), operands)


class VjpSymbolUse(SymbolUserOpInterface):
    """Verifies a `kina.vjp` against its callee."""

    def verify(self, op: Operation) -> None:
        """The operands are the callee's and its cotangents; results and gradients follow."""
        assert isinstance(op, VjpOp)
        callee = SymbolTable.lookup_symbol(op, op.callee)
        if not isinstance(callee, FuncOp):
            raise VerifyException(f"vjp: no function is called {op.callee.string_value()}")
        inputs = [from_ir(type_) for type_ in callee.function_type.inputs]
        outputs = [from_ir(type_) for type_ in callee.function_type.outputs]
        try:
            binding = vjp_binding(op, callee)
            types = vjp_results(inputs, outputs, op.wrt_values)
            expected = [substitute(type_, binding) for type_ in types]
        except RuleError as error:
            raise VerifyException(f"vjp: {error.message}") from error
        results = [from_ir(type_) for type_ in op.result_types]
        if results != expected:
            raise VerifyException(
                f"vjp: results have types ({', '.join(map(str, results))}), "
                f"expected ({', '.join(map(str, expected))})"
            )


@irdl_op_definition
class VjpOp(IRDLOperation):
    """The results of `callee`, then the gradients of its parameters `wrt`.

    Operands: the callee's, then one cotangent for each floating result of rank 1 or more; a
    rank-0 result has cotangent 1. The callee's symbols are bound as by `kina.call`.
    """

    name = "kina.vjp"

    callee = prop_def(FlatSymbolRefAttrConstr)
    wrt = prop_def(DenseArrayBase[I64])
    arguments = var_operand_def(TENSOR)
    outputs = var_result_def(TENSOR)
    assembly_format = (
        "$callee `(` $arguments `)` ` ` `{` `wrt` `=` $wrt `}` attr-dict `:` "
        "functional-type($arguments, $outputs)"
    )

    traits = traits_def(VjpSymbolUse())

    def __init__(
        self,
        callee: str | FlatSymbolRefAttr,
        arguments: Sequence[Value],
        wrt: Sequence[int],
        result_types: Sequence[IRTensor],
    ) -> None:
        symbol = SymbolRefAttr(callee) if isinstance(callee, str) else callee
        super().__init__(
            operands=[arguments],
            properties={"callee": symbol, "wrt": DenseArrayBase.from_list(i64, wrt)},
            result_types=[result_types],
        )

    @property
    def wrt_values(self) -> tuple[int, ...]:
        """The positions of the parameters to differentiate by."""
        return self.wrt.get_values()
