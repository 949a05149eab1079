"""`kina.fold`: a function of the module, applied layer after layer; one copy of its code."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import (
    I64,
    DenseArrayBase,
    FlatSymbolRefAttr,
    FlatSymbolRefAttrConstr,
    UnitAttr,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    traits_def,
    var_operand_def,
    var_result_def,
)

from kina.dialects.base import TENSOR, Value
from kina.dialects.callee import CalleeUse, FunctionUser, given_sizes, kina_types, symbol
from kina.dialects.types import IRTensor, from_ir
from kina.rules.calls import substitute
from kina.rules.folds import FoldTypes, check_invariant, stack_of
from kina.rules.parts import RuleError
from kina.types import Dim, TensorType


@irdl_op_definition
class FoldOp(FunctionUser, IRDLOperation):
    """`callee(carried, a layer of over, whole)`, once per layer, its first results carried on.

    Results: the carried values after the last layer; then what else the callee gives, stacked
    along a layer axis; then, for each position in `kept`, the carried values that each layer
    took, stacked. `reverse` goes from the last layer to the first. The language has one carried
    value and stacks; the rest is for gradients.
    """

    name = "kina.fold"

    callee = prop_def(FlatSymbolRefAttrConstr)
    carried = var_operand_def(TENSOR)
    over = var_operand_def(TENSOR)
    whole = var_operand_def(TENSOR)
    reverse = opt_prop_def(UnitAttr)
    kept = opt_prop_def(DenseArrayBase[I64])
    outputs = var_result_def(TENSOR)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    assembly_format = (
        "$callee `(` $carried `)` `over` `(` $over `)` `with` `(` $whole `)` "
        "(`reverse` $reverse^)? (`kept` $kept^)? attr-dict `:` "
        "`(` type($carried) `)` `over` `(` type($over) `)` `with` `(` type($whole) `)` `->` "
        "`(` type($outputs) `)`"
    )

    traits = traits_def(CalleeUse())

    def __init__(
        self,
        callee: str | FlatSymbolRefAttr,
        carried: Sequence[Value],
        over: Sequence[Value],
        whole: Sequence[Value],
        outputs: Sequence[IRTensor],
        *,
        reverse: bool = False,
        kept: Sequence[int] = (),
    ) -> None:
        super().__init__(
            operands=[carried, over, whole],
            properties={
                "callee": symbol(callee),
                "reverse": UnitAttr() if reverse else None,
                "kept": DenseArrayBase.from_list(i64, kept) if kept else None,
            },
            result_types=[outputs],
        )

    @property
    def kept_values(self) -> tuple[int, ...]:
        """The positions of the carried values that are kept for each layer."""
        return () if self.kept is None else self.kept.get_values()

    @property
    def stacked(self) -> Sequence[SSAValue]:
        """What each layer gives besides what is carried on."""
        return self.outputs[len(self.carried) : len(self.outputs) - len(self.kept_values)]

    @property
    def types(self) -> FoldTypes:
        """The types of the operands."""
        return FoldTypes(
            *(kina_types([v.type for v in part]) for part in (self.carried, self.over, self.whole))
        )

    @property
    def layers(self) -> Dim:
        """How many layers there are."""
        return from_ir(self.over[0].type).dims[0]

    def binding(self, callee: FuncOp) -> dict[str, Dim]:
        """The callee's symbols as the caller's dimensions."""
        inputs = kina_types(callee.function_type.inputs.data)
        given_sizes(self, callee)
        return self.types.bind(callee.sym_name.data, inputs)

    def expected_results(self, callee: FuncOp) -> Sequence[TensorType]:
        """The carried values, then stacks of layers."""
        name, types = callee.sym_name.data, self.types
        binding, layers = self.binding(callee), types.layers()
        outputs = kina_types(callee.function_type.outputs.data)
        given = [substitute(output, binding) for output in outputs]
        check_invariant(name, types.carried, given)
        for position in self.kept_values:
            if not 0 <= position < len(types.carried):
                raise RuleError(f"there is no carried value {position} to be kept")
        stacked = given[len(types.carried) :]
        kept = [types.carried[position] for position in self.kept_values]
        return [*types.carried, *(stack_of(layers, type_) for type_ in [*stacked, *kept])]
