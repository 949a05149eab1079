"""Reductions along one axis."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.utils.enum_attribute import EnumAttribute
from xdsl.ir import SpacedOpaqueSyntaxAttribute
from xdsl.irdl import irdl_attr_definition, irdl_op_definition, operand_def, prop_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.str_enum import StrEnum

from kina.dialects.base import (
    AXIS_FORMAT,
    TENSOR,
    AxisOp,
    Value,
    axis_attribute,
    inferred,
)
from kina.rules.parts import Attributes


class ReductionKind(StrEnum):
    """The words of `op=`."""

    SUM = "sum"
    MAX = "max"
    MIN = "min"
    MEAN = "mean"
    ARGMAX = "argmax"
    ARGMIN = "argmin"
    PROD = "prod"
    ANY = "any"
    ALL = "all"


@irdl_attr_definition
class ReductionKindAttr(EnumAttribute[ReductionKind], SpacedOpaqueSyntaxAttribute):
    """How a reduction combines the elements of a fiber."""

    name = "kina.reduction_kind"


class ReductionOp(AxisOp, ABC):
    """A reduction of each fiber along `axis`."""

    kind = prop_def(ReductionKindAttr)
    operand = operand_def(TENSOR)
    assembly_format = f"$kind $operand{AXIS_FORMAT} `:` type($operand) `->` type($result)"

    traits = traits_def(Pure())

    def __init__(self, operand: Value, kind: str, axis: int) -> None:
        name = self.name.removeprefix("kina.")
        result = inferred(name, [operand], {"op": kind, "axis": axis})
        properties = {
            "kind": ReductionKindAttr(ReductionKind(kind)),
            "axis": axis_attribute(axis),
        }
        super().__init__(operands=[operand], properties=properties, result_types=[result])

    def rule_attributes(self) -> Attributes:
        """The kind and the axis."""
        return {"op": self.kind.data.value, "axis": self.axis_value}


@irdl_op_definition
class ReduceOp(ReductionOp):
    """Removes the reduced axis.

    argmax gives the lowest index of the maximum, as I64 (seed 17), argmin that of the minimum.
    """

    name = "kina.reduce"


@irdl_op_definition
class ReduceKeepOp(ReductionOp):
    """Keeps the reduced axis with size 1 (seed 17)."""

    name = "kina.reduce_keep"
