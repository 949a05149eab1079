"""Checked indexing: an index outside the axis is an error of the call, never a wrong element.

These operations are not `Pure`: their check holds whether the result is used or not.
"""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition, operand_def

from kina.dialects.base import (
    AXIS_FORMAT,
    TENSOR,
    KinaOp,
    Value,
    axis_attribute,
    axis_prop,
    inferred,
)
from kina.rules import Attributes


@irdl_op_definition
class TakeAlongAxisOp(KinaOp):
    """Selects one element of each fiber along `axis` (seed 9).

    `values` has shape σ, `indices` (I64) and the result have σ without the axis.
    """

    name = "kina.take_along_axis"

    values = operand_def(TENSOR)
    indices = operand_def(TENSOR)
    axis = axis_prop()
    assembly_format = (
        f"$values `,` $indices{AXIS_FORMAT} `:` type($values) `,` type($indices) `->` type($result)"
    )

    def __init__(self, values: Value, indices: Value, axis: int) -> None:
        result = inferred("take_along_axis", [values, indices], {"axis": axis})
        super().__init__(
            operands=[values, indices],
            properties={"axis": axis_attribute(axis)},
            result_types=[result],
        )

    @property
    def axis_value(self) -> int:
        """The axis that the indices select along."""
        return self.axis.value.data

    def rule_attributes(self) -> Attributes:
        """The axis."""
        return {"axis": self.axis_value}


@irdl_op_definition
class GatherOp(KinaOp):
    """Embedding lookup: row `indices[i]` of a table `[V, D]` at every place of the indices."""

    name = "kina.gather"

    values = operand_def(TENSOR)
    indices = operand_def(TENSOR)
    assembly_format = (
        "$values `,` $indices attr-dict `:` type($values) `,` type($indices) `->` type($result)"
    )

    def __init__(self, values: Value, indices: Value) -> None:
        result = inferred("gather", [values, indices], {})
        super().__init__(operands=[values, indices], result_types=[result])
