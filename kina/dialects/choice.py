"""Comparisons, logic, and the choice between two tensors."""

from __future__ import annotations

from abc import ABC

from xdsl.irdl import irdl_op_definition, operand_def

from kina.dialects.base import TENSOR, Value, inferred
from kina.dialects.elementwise import BinaryOp, ElementwiseOp, UnaryOp


class CompareOp(BinaryOp, ABC):
    """A comparison of two tensors of one type, as Bool; -0.0 equals +0.0.

    A NaN is unequal to everything and neither less nor greater than anything. false < true.
    """


@irdl_op_definition
class EqualOp(CompareOp):
    """`x == y`."""

    name = "kina.equal"


@irdl_op_definition
class NotEqualOp(CompareOp):
    """`x != y`."""

    name = "kina.not_equal"


@irdl_op_definition
class LessOp(CompareOp):
    """`x < y`."""

    name = "kina.less"


@irdl_op_definition
class LessEqualOp(CompareOp):
    """`x <= y`."""

    name = "kina.less_equal"


@irdl_op_definition
class GreaterOp(CompareOp):
    """`x > y`."""

    name = "kina.greater"


@irdl_op_definition
class GreaterEqualOp(CompareOp):
    """`x >= y`."""

    name = "kina.greater_equal"


@irdl_op_definition
class LogicalAndOp(BinaryOp):
    """`x && y`, on Bool."""

    name = "kina.logical_and"


@irdl_op_definition
class LogicalOrOp(BinaryOp):
    """`x || y`, on Bool."""

    name = "kina.logical_or"


@irdl_op_definition
class LogicalNotOp(UnaryOp):
    """`!x`, on Bool."""

    name = "kina.logical_not"


@irdl_op_definition
class SelectOp(ElementwiseOp):
    """`on_true` where the condition holds, `on_false` elsewhere, bit for bit.

    Not a sum of products: 0 times infinity is NaN.
    """

    name = "kina.select"

    condition = operand_def(TENSOR)
    on_true = operand_def(TENSOR)
    on_false = operand_def(TENSOR)
    assembly_format = (
        "$condition `,` $on_true `,` $on_false attr-dict `:` "
        "type($condition) `,` type($on_true) `,` type($on_false) `->` type($result)"
    )

    def __init__(self, condition: Value, on_true: Value, on_false: Value) -> None:
        operands = [condition, on_true, on_false]
        super().__init__(operands=operands, result_types=[inferred("select", operands, {})])
