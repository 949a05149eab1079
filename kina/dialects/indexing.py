"""Checked indexing: an index outside the axis is an error of the call, never a wrong element.

These operations are not `Pure`: their check holds whether the result is used or not.
"""

from __future__ import annotations

from xdsl.dialects.builtin import I64, IntegerAttr, StringAttr
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, base, irdl_op_definition, operand_def, prop_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from kina import dtypes
from kina.dialects.base import (
    AXIS_FORMAT,
    TENSOR,
    AxisOp,
    KinaOp,
    Value,
    axis_attribute,
    axis_prop,
    dim_attribute,
    dim_value,
    inferred,
)
from kina.dialects.types import from_ir, to_ir
from kina.rules.infer import infer
from kina.rules.parts import RuleError
from kina.types import Dim, Placement


@irdl_op_definition
class TakeAlongAxisOp(AxisOp):
    """Selects one element of each fiber along `axis` (seed 9).

    `values` has shape σ, `indices` (I64) and the result have σ without the axis.
    """

    name = "kina.take_along_axis"

    values = operand_def(TENSOR)
    indices = operand_def(TENSOR)
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


@irdl_op_definition
class CheckIndicesOp(IRDLOperation):
    """The check of a take_along_axis on its own: every index is in `0 .. size-1`.

    Made by simplify-kina, which keeps one for each take in program order; no surface syntax.
    `axis` is the axis of the take, for the message; `size` is an integer or a symbol's name.
    """

    name = "kina.check_indices"

    indices = operand_def(TENSOR)
    axis = axis_prop()
    size = prop_def(base(IntegerAttr[I64]) | base(StringAttr))
    assembly_format = (
        "$indices ` ` `{` `axis` `=` $axis `,` `size` `=` $size `}` attr-dict `:` type($indices)"
    )

    def __init__(self, indices: Value, axis: int, size: Dim) -> None:
        properties = {
            "axis": axis_attribute(axis),
            "size": dim_attribute(size),
        }
        super().__init__(operands=[indices], properties=properties)

    @property
    def axis_value(self) -> int:
        """The axis of the take, for the message."""
        return self.axis.value.data

    @property
    def size_value(self) -> Dim:
        """The size of that axis."""
        return dim_value(self.size)

    def verify_(self) -> None:
        """The indices are I64 on the host."""
        indices = from_ir(self.indices.type)
        if indices.dtype is not dtypes.I64 or indices.placement is not Placement.HOST:
            raise VerifyException(f"check_indices: indices have type {indices}, expected I64")


@irdl_op_definition
class SelectAlongAxisOp(AxisOp):
    """take_along_axis without its check, and so `Pure`; its values broadcast implicitly.

    Made by simplify-kina, always after a `kina.check_indices` of the same indices and size.
    The values are padded with 1s on the left to one rank more than the indices; then each
    dimension but the one at `axis` equals that of the indices, or is 1.
    """

    name = "kina.select_along_axis"

    values = operand_def(TENSOR)
    indices = operand_def(TENSOR)
    assembly_format = (
        f"$values `,` $indices{AXIS_FORMAT} `:` type($values) `,` type($indices) `->` type($result)"
    )

    traits = traits_def(Pure())

    def __init__(self, values: Value, indices: Value, axis: int) -> None:
        selected = from_ir(SSAValue.get(indices).type).dims
        super().__init__(
            operands=[values, indices],
            properties={"axis": axis_attribute(axis)},
            result_types=[to_ir(from_ir(SSAValue.get(values).type).with_dims(selected))],
        )

    @property
    def rule_name(self) -> str:
        """The operation that it is a half of."""
        return "take_along_axis"

    def verify_(self) -> None:
        """Spread the values over the shape that the indices ask for and apply the type rule."""
        values, indices = self.kina_operand_types()
        own_axis = self.axis_value - (indices.rank + 1 - values.rank)
        if not 0 <= own_axis < values.rank:
            raise VerifyException(
                f"select_along_axis: axis {self.axis_value} is not an axis of values {values} "
                f"beside indices {indices}"
            )
        before, after = indices.dims[: self.axis_value], indices.dims[self.axis_value :]
        spread = (*before, values.dims[own_axis], *after)
        try:
            full = infer("broadcast", [values], {"dims": spread})
            expected = infer("take_along_axis", [full, indices], self.rule_attributes())
        except RuleError as error:
            raise VerifyException(f"select_along_axis: {error.message}") from error
        if self.kina_type != expected:
            raise VerifyException(
                f"select_along_axis: result has type {self.kina_type}, expected {expected}"
            )
