"""`kina.vjp`: a function and its gradients in one operation, until `transform-ad` expands it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import I64, DenseArrayBase, FlatSymbolRefAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.irdl import irdl_op_definition, prop_def, traits_def

from kina.dialects.base import Value
from kina.dialects.callee import (
    CalleeOp,
    CalleeUse,
    given_sizes,
    kina_types,
    sizes_attribute,
    symbol,
)
from kina.dialects.types import IRTensor
from kina.rules.calls import bind, substitute
from kina.rules.gradients import vjp_operands, vjp_results
from kina.types import Dim, TensorType


def vjp_binding(op: VjpOp, callee: FuncOp) -> dict[str, Dim]:
    """The callee's symbols as the caller's dimensions; a `RuleError` if an operand does not fit."""
    inputs = kina_types(callee.function_type.inputs.data)
    outputs = kina_types(callee.function_type.outputs.data)
    name = f"vjp of {callee.sym_name.data}"
    operands, sizes = vjp_operands(inputs, outputs), given_sizes(op, callee)
    return bind(name, operands, kina_types(op.operand_types), sizes)


@irdl_op_definition
class VjpOp(CalleeOp):
    """The results of `callee`, then the gradients of its parameters `wrt`.

    Operands: the callee's, then one cotangent for each floating result of rank 1 or more; a
    rank-0 result has cotangent 1. The callee's symbols are bound as by `kina.call`.
    """

    name = "kina.vjp"

    wrt = prop_def(DenseArrayBase[I64])
    assembly_format = (
        "$callee `(` $arguments `)` (`sizes` $sizes^)? ` ` `{` `wrt` `=` $wrt `}` attr-dict `:` "
        "functional-type($arguments, $outputs)"
    )

    traits = traits_def(CalleeUse())

    def __init__(
        self,
        callee: str | FlatSymbolRefAttr,
        arguments: Sequence[Value],
        wrt: Sequence[int],
        result_types: Sequence[IRTensor],
        sizes: Sequence[Dim] = (),
    ) -> None:
        super().__init__(
            operands=[arguments],
            properties={
                "callee": symbol(callee),
                "wrt": DenseArrayBase.from_list(i64, wrt),
                "sizes": sizes_attribute(sizes),
            },
            result_types=[result_types],
        )

    @property
    def wrt_values(self) -> tuple[int, ...]:
        """The positions of the parameters to differentiate by."""
        return self.wrt.get_values()

    def expected_results(self, callee: FuncOp) -> Sequence[TensorType]:
        """The callee's results and its gradients."""
        inputs = kina_types(callee.function_type.inputs.data)
        outputs = kina_types(callee.function_type.outputs.data)
        binding = vjp_binding(self, callee)
        types = vjp_results(inputs, outputs, self.wrt_values)
        return [substitute(type_, binding) for type_ in types]
