"""`kina.invoke` and `kina.invoke_layers`: calls of C functions, while values are still tensors."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import (
    I64,
    DenseArrayBase,
    FlatSymbolRefAttrConstr,
    IntegerAttr,
    SymbolRefAttr,
    UnitAttr,
    i32,
    i64,
)
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AnyAttr,
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    result_def,
    var_operand_def,
    var_result_def,
)
from xdsl.utils.exceptions import VerifyException

_FORMAT = (
    "$callee `sizes` `(` $sizes `)` `ins` `(` $inputs `)` `outs` `(` $outs `)` {}attr-dict "
    "`:` functional-type($inputs, $made) `outs` `:` type($outs)"
)


class Invocation(IRDLOperation, ABC):
    """Calls an exported function: the sizes of its symbols, its inputs, tensors to write.

    `status` is what it returns; the tensors in `made` stand for what it wrote to `outs`.
    """

    callee = prop_def(FlatSymbolRefAttrConstr)
    sizes = var_operand_def(i64)
    inputs = var_operand_def(AnyAttr())
    outs = var_operand_def(AnyAttr())
    status = result_def(i32)
    made = var_result_def(AnyAttr())

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def verify_(self) -> None:
        """Each tensor to write has its result."""
        if [out.type for out in self.outs] != [made.type for made in self.made]:
            what = self.name.removeprefix("kina.")
            raise VerifyException(f"{what}: the results have other types than the outputs")


@irdl_op_definition
class InvokeOp(Invocation):
    """One call."""

    name = "kina.invoke"

    assembly_format = _FORMAT.format("")

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


@irdl_op_definition
class InvokeLayersOp(Invocation):
    """A call per layer, while all succeed; the status is that of the last one.

    Of the inputs, the first `carried` go from layer to layer, the next `over` have a layer axis,
    the rest is passed whole. What is written: the carried values after the last layer, stacks of
    what else the callee gives, and stacks of the carried values at `kept` as each layer took them.
    """

    name = "kina.invoke_layers"

    carried = prop_def(IntegerAttr[I64])
    over = prop_def(IntegerAttr[I64])
    kept = prop_def(DenseArrayBase[I64])
    reverse = opt_prop_def(UnitAttr)

    assembly_format = _FORMAT.format(
        "`carried` `=` $carried `over` `=` $over `kept` `=` $kept (`reverse` $reverse^)? "
    )

    def __init__(
        self,
        callee: str,
        sizes: Sequence[SSAValue],
        inputs: tuple[Sequence[SSAValue], Sequence[SSAValue], Sequence[SSAValue]],
        outs: Sequence[SSAValue],
        kept: Sequence[int],
        *,
        reverse: bool,
    ) -> None:
        carried, over, whole = inputs
        super().__init__(
            operands=[sizes, [*carried, *over, *whole], outs],
            properties={
                "callee": SymbolRefAttr(callee),
                "carried": IntegerAttr(len(carried), i64),
                "over": IntegerAttr(len(over), i64),
                "kept": DenseArrayBase.from_list(i64, kept),
                "reverse": UnitAttr() if reverse else None,
            },
            result_types=[i32, [out.type for out in outs]],
        )

    @property
    def carried_count(self) -> int:
        """How many inputs go from layer to layer."""
        return self.carried.value.data

    @property
    def layered(self) -> Sequence[SSAValue]:
        """The inputs that have a layer axis."""
        first = self.carried_count
        return self.inputs[first : first + self.over.value.data]

    @property
    def kept_values(self) -> Sequence[int]:
        """The carried values that are kept for each layer."""
        return self.kept.get_values()

    def verify_(self) -> None:
        """The numbers fit the operands."""
        super().verify_()
        count = self.carried_count
        enough = 0 <= count <= len(self.outs) - len(self.kept_values) and self.layered
        if not enough or any(not 0 <= position < count for position in self.kept_values):
            raise VerifyException("invoke_layers: the numbers of operands do not fit")
