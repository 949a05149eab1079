"""`kina.invoke`: a call between C functions, while values are still tensors."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import FlatSymbolRefAttrConstr, SymbolRefAttr, i32, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    prop_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException


@irdl_op_definition
class InvokeOp(IRDLOperation):
    """Calls an exported function: the sizes of its symbols, its inputs, tensors to write.

    `status` is what it returns; the tensors in `made` stand for what it wrote to `outs`.
    """

    name = "kina.invoke"

    callee = prop_def(FlatSymbolRefAttrConstr)
    sizes = var_operand_def(i64)
    inputs = var_operand_def(AnyAttr())
    outs = var_operand_def(AnyAttr())
    status = result_def(i32)
    made = var_result_def(AnyAttr())

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    assembly_format = (
        "$callee `sizes` `(` $sizes `)` `ins` `(` $inputs `)` `outs` `(` $outs `)` attr-dict "
        "`:` functional-type($inputs, $made) `outs` `:` type($outs)"
    )

    def __init__(
        self,
        callee: str,
        sizes: Sequence[SSAValue],
        inputs: Sequence[SSAValue],
        outs: Sequence[SSAValue],
    ) -> None:
        super().__init__(
            operands=[sizes, inputs, outs],
            properties={"callee": SymbolRefAttr(callee)},
            result_types=[i32, [out.type for out in outs]],
        )

    def verify_(self) -> None:
        """Each tensor to write has its result."""
        if [out.type for out in self.outs] != [made.type for made in self.made]:
            raise VerifyException("invoke: the results have other types than the outputs")
