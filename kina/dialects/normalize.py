"""softmax and log_softmax: operations that normalise each fiber along an axis."""

from __future__ import annotations

from abc import ABC

from xdsl.irdl import irdl_op_definition, operand_def, traits_def
from xdsl.traits import Pure

from kina.dialects.base import (
    AXIS_FORMAT,
    TENSOR,
    AxisOp,
    Value,
    axis_attribute,
    inferred,
)


class NormalizeOp(AxisOp, ABC):
    """An operation along `axis` whose result has the operand's type."""

    operand = operand_def(TENSOR)
    assembly_format = f"$operand{AXIS_FORMAT} `:` type($operand) `->` type($result)"

    traits = traits_def(Pure())

    def __init__(self, operand: Value, axis: int) -> None:
        name = self.name.removeprefix("kina.")
        result = inferred(name, [operand], {"axis": axis})
        super().__init__(
            operands=[operand], properties={"axis": axis_attribute(axis)}, result_types=[result]
        )


@irdl_op_definition
class SoftmaxOp(NormalizeOp):
    """`exp(x - max) / sum(exp(x - max))` of each fiber."""

    name = "kina.softmax"


@irdl_op_definition
class LogSoftmaxOp(NormalizeOp):
    """`(x - max) - log(sum(exp(x - max)))` of each fiber (seed 9): never log of a softmax."""

    name = "kina.log_softmax"
