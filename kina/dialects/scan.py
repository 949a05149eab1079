"""Operations that walk each fiber and keep a running value: cumsum, and what gradients need."""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import I64, IntegerAttr, i64
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, traits_def
from xdsl.traits import Pure

from kina.dialects.base import (
    AXIS_FORMAT,
    TENSOR,
    AxisOp,
    Value,
    axis_attribute,
    inferred,
    kina_type_of,
)
from kina.dialects.internal import InternalOp
from kina.dialects.types import to_ir
from kina.dtypes import F32
from kina.rules.parts import RuleError, check_axis
from kina.types import TensorType


@irdl_op_definition
class CumsumOp(AxisOp):
    """The sums of the first 1, 2, … elements of each fiber along `axis`.

    One chain of additions from +0.0, in order (`kina/order.py`); integers wrap.
    """

    name = "kina.cumsum"

    operand = operand_def(TENSOR)
    assembly_format = f"$operand{AXIS_FORMAT} `:` type($operand) `->` type($result)"

    traits = traits_def(Pure())

    def __init__(self, operand: Value, axis: int) -> None:
        super().__init__(
            operands=[operand],
            properties={"axis": axis_attribute(axis)},
            result_types=[inferred("cumsum", [operand], {"axis": axis})],
        )


class AlongAxisOp(AxisOp, InternalOp, ABC):
    """An internal operation along `axis` whose result has the type of its first operand."""

    def check_types(self) -> TensorType:
        """The first operand's type."""
        type_ = self.kina_operand_types()[0]
        check_axis(self.rule_name, self.axis_value, type_.dims)
        return type_


@irdl_op_definition
class ReverseOp(AlongAxisOp):
    """The elements of each fiber along `axis`, the last one first."""

    name = "kina.reverse"

    operand = operand_def(TENSOR)
    assembly_format = f"$operand{AXIS_FORMAT} `:` type($operand) `->` type($result)"

    def __init__(self, operand: Value, axis: int) -> None:
        super().__init__(
            operands=[operand],
            properties={"axis": axis_attribute(axis)},
            result_types=[to_ir(kina_type_of(operand))],
        )


@irdl_op_definition
class RecurrenceOp(AlongAxisOp):
    """The states of `h = h * factor + term` before each element of a fiber along `axis`.

    `start` is the first state, 0 or 1. F32; the product and the sum round once each. With terms of
    -0.0 it is the product of all elements before, whatever they are.
    """

    name = "kina.recurrence"

    factors = operand_def(TENSOR)
    terms = operand_def(TENSOR)
    start = prop_def(IntegerAttr[I64])
    assembly_format = (
        "$factors `,` $terms ` ` `{` `axis` `=` $axis `,` `start` `=` $start `}` attr-dict `:` "
        "type($factors) `,` type($terms) `->` type($result)"
    )

    def __init__(self, factors: Value, terms: Value, axis: int, start: int) -> None:
        super().__init__(
            operands=[factors, terms],
            properties={"axis": axis_attribute(axis), "start": IntegerAttr(start, i64)},
            result_types=[to_ir(kina_type_of(factors))],
        )

    @property
    def start_value(self) -> int:
        """The first state."""
        return self.start.value.data

    def check_types(self) -> TensorType:
        """The factors' type."""
        factors, terms = self.kina_operand_types()
        if factors != terms or factors.dtype is not F32:
            raise RuleError(
                f"operands have types {factors} and {terms}, expected equal ones of F32"
            )
        if self.start_value not in (0, 1):
            raise RuleError(f"start is {self.start_value}, expected 0 or 1")
        return super().check_types()
