"""Elementwise operations, casts and constants."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable
from math import isfinite
from typing import Self, cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr
from xdsl.ir import Attribute
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure
from xdsl.utils.exceptions import VerifyException

from kina.dialects.base import TENSOR, KinaOp, Value, inferred
from kina.dialects.types import from_ir, to_ir
from kina.dtypes import DType
from kina.rules.parts import Attributes
from kina.types import Placement


class ElementwiseOp(KinaOp, ABC):
    """An operation that acts on elements, one at a time; nothing broadcasts by itself."""

    traits = traits_def(Pure())


class UnaryOp(ElementwiseOp, ABC):
    """Arithmetic on one tensor: the result has the operand's type."""

    operand = operand_def(TENSOR)
    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: Value) -> None:
        name = self.name.removeprefix("kina.")
        super().__init__(operands=[operand], result_types=[inferred(name, [operand], {})])


class BinaryOp(ElementwiseOp, ABC):
    """Arithmetic on two tensors of one type."""

    left = operand_def(TENSOR)
    right = operand_def(TENSOR)
    assembly_format = (
        "$left `,` $right attr-dict `:` type($left) `,` type($right) `->` type($result)"
    )

    def __init__(self, left: Value, right: Value) -> None:
        name = self.name.removeprefix("kina.")
        result = inferred(name, [left, right], {})
        super().__init__(operands=[left, right], result_types=[result])


@irdl_op_definition
class NegOp(UnaryOp):
    """`-x`; integers wrap."""

    name = "kina.neg"


@irdl_op_definition
class ExpOp(UnaryOp):
    """e to the power of each element (seed 9)."""

    name = "kina.exp"


@irdl_op_definition
class LogOp(UnaryOp):
    """The natural logarithm (seed 18)."""

    name = "kina.log"


@irdl_op_definition
class StopGradientOp(ElementwiseOp):
    """The operand; no gradient passes."""

    name = "kina.stop_gradient"

    operand = operand_def(TENSOR)
    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    def __init__(self, operand: Value) -> None:
        result = inferred("stop_gradient", [operand], {})
        super().__init__(operands=[operand], result_types=[result])


@irdl_op_definition
class AddOp(BinaryOp):
    """`x + y`; integers wrap."""

    name = "kina.add"


@irdl_op_definition
class SubOp(BinaryOp):
    """`x - y`; integers wrap."""

    name = "kina.sub"


@irdl_op_definition
class MulOp(BinaryOp):
    """`x * y`; integers wrap."""

    name = "kina.mul"


@irdl_op_definition
class DivOp(BinaryOp):
    """`x / y`; of integers toward zero, 0 where y is 0."""

    name = "kina.div"


@irdl_op_definition
class MaximumOp(BinaryOp):
    """The larger of two; NaN propagates, -0.0 < +0.0."""

    name = "kina.maximum"


@irdl_op_definition
class MinimumOp(BinaryOp):
    """The smaller of two; NaN propagates, -0.0 < +0.0."""

    name = "kina.minimum"


@irdl_op_definition
class ClampOp(ElementwiseOp):
    """`minimum(maximum(x, low), high)`."""

    name = "kina.clamp"

    operand = operand_def(TENSOR)
    low = operand_def(TENSOR)
    high = operand_def(TENSOR)
    assembly_format = (
        "$operand `,` $low `,` $high attr-dict `:` "
        "type($operand) `,` type($low) `,` type($high) `->` type($result)"
    )

    def __init__(self, operand: Value, low: Value, high: Value) -> None:
        operands = [operand, low, high]
        super().__init__(operands=operands, result_types=[inferred("clamp", operands, {})])


@irdl_op_definition
class CastOp(KinaOp):
    """Conversion to another dtype: floats to integers saturate, NaN becomes 0, integers wrap."""

    name = "kina.cast"

    operand = operand_def(TENSOR)
    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    traits = traits_def(Pure())

    def __init__(self, operand: Value, dtype: DType) -> None:
        result = inferred("cast", [operand], {"dtype": dtype})
        super().__init__(operands=[operand], result_types=[result])

    def rule_attributes(self) -> Attributes:
        """The target dtype, which the result type carries."""
        return {"dtype": self.kina_type.dtype}


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A tensor known at compile time, with its whole payload."""

    name = "kina.constant"

    value = prop_def(DenseIntOrFPElementsAttr)
    result = result_def(TENSOR)

    traits = traits_def(Pure(), ConstantLike())

    def __init__(
        self, value: DenseIntOrFPElementsAttr, placement: Placement = Placement.HOST
    ) -> None:
        plain = from_ir(value.type)
        result = to_ir(type(plain)(plain.dtype, plain.dims, placement))
        super().__init__(properties={"value": value}, result_types=[result])

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Read `dense<…> : type attr-dict -> type`."""
        value = parser.parse_attribute()
        if not isinstance(value, DenseIntOrFPElementsAttr):
            parser.raise_error("constant: expected a dense<…> payload")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation("->")
        return cls.create(
            properties={"value": cast(Attribute, value)},
            attributes=attributes,
            result_types=[parser.parse_type()],
        )

    def print(self, printer: Printer) -> None:
        """Write what `parse` reads.

        NaN and infinities go out as the payload's bytes: xDSL prints them as `0x…` elements, but
        its parser takes those for integers. So do zeros of both signs, which xDSL calls a splat.
        """
        printer.print_string(" ")
        raw = self.value.data.data
        one = raw[: len(raw) // len(self.value)]
        alike = raw == one * len(self.value)
        finite = all(map(isfinite, cast(Iterable[float], self.value.iter_values())))
        if finite and alike == self.value.is_splat():
            printer.print_attribute(self.value)
        else:
            shown = one if alike else raw
            printer.print_string(f'dense<"0x{shown.hex().upper()}"> : ')
            printer.print_attribute(self.value.type)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" -> ")
        printer.print_attribute(self.result.type)

    def verify_(self) -> None:
        """The payload has the shape and the dtype of the result."""
        result, payload = from_ir(self.result.type), from_ir(self.value.type)
        if (result.dtype, result.dims) != (payload.dtype, payload.dims):
            raise VerifyException(f"constant: payload has type {payload}, expected {result}")
