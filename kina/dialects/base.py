"""What every operation of the dialect shares: one result, and a verifier that is its type rule."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.dialects.builtin import I64, IntegerAttr, StringAttr, TensorType, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import AttrConstraint, IRDLOperation, base, prop_def, result_def
from xdsl.utils.exceptions import VerifyException

from kina.dialects.types import IRTensor, from_ir, to_ir
from kina.rules.infer import infer
from kina.rules.parts import Attributes, RuleError
from kina.types import Dim
from kina.types import TensorType as KinaType

TENSOR: AttrConstraint[IRTensor] = base(TensorType)
"""Any tensor: the type rules check the rest, with better words."""

Value = SSAValue | Operation

AXIS_FORMAT = "` ` `{` `axis` `=` $axis `}` attr-dict"
"""How an axis reads in assembly: `{axis = 2}`."""


def axis_attribute(axis: int) -> IntegerAttr[I64]:
    """An axis as the dialect stores it."""
    return IntegerAttr(axis, i64)


def dim_attribute(dim: Dim) -> StringAttr | IntegerAttr[I64]:
    """A size as the dialect stores it: an integer or the name of a symbol."""
    return StringAttr(dim) if isinstance(dim, str) else IntegerAttr(dim, i64)


def dim_value(attribute: StringAttr | IntegerAttr[I64]) -> Dim:
    """The inverse of `dim_attribute`."""
    return attribute.data if isinstance(attribute, StringAttr) else attribute.value.data


class KinaOp(IRDLOperation, ABC):
    """An operation of the op table, with one tensor result.

    Its type rule (`kina.rules`) gives the result type and is the verifier as well.
    """

    result = result_def(TENSOR)

    @property
    def rule_name(self) -> str:
        """The operation's name in the op table."""
        return self.name.removeprefix("kina.")

    def rule_attributes(self) -> Attributes:
        """The compile-time arguments, as the type rule takes them."""
        return {}

    @property
    def kina_type(self) -> KinaType:
        """The result's Kina type."""
        return from_ir(self.result.type)

    def kina_operand_types(self) -> list[KinaType]:
        """The operands' Kina types."""
        return [from_ir(operand.type) for operand in self.operands]

    def verify_(self) -> None:
        """Apply the type rule."""
        try:
            expected = infer(self.rule_name, self.kina_operand_types(), self.rule_attributes())
        except RuleError as error:
            raise VerifyException(error.message) from error
        if self.kina_type != expected:
            raise VerifyException(
                f"{self.rule_name}: result has type {self.kina_type}, expected {expected}"
            )


class AxisOp(KinaOp, ABC):
    """An operation of the op table along a compile-time `axis`."""

    axis = prop_def(IntegerAttr[I64])

    @property
    def axis_value(self) -> int:
        """The axis."""
        return self.axis.value.data

    def rule_attributes(self) -> Attributes:
        """The axis."""
        return {"axis": self.axis_value}


def kina_type_of(value: Value) -> KinaType:
    """The Kina type of a value, or of the one that an operation computes."""
    return from_ir(SSAValue.get(value).type)


def inferred(name: str, operands: Sequence[Value], attributes: Attributes) -> IRTensor:
    """The IR result type that the rule of `name` gives; a `RuleError` where it is broken."""
    types = [kina_type_of(operand) for operand in operands]
    return to_ir(infer(name, types, attributes))


def axis_prop() -> IntegerAttr[I64]:
    """The field of a compile-time axis."""
    return prop_def(IntegerAttr[I64])
