"""Operations that reverse mode needs and the language has no word for.

All are `Pure`. Their indices have been checked by the operation whose gradient they belong to.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from xdsl.irdl import irdl_op_definition, operand_def, traits_def
from xdsl.traits import Pure
from xdsl.utils.exceptions import VerifyException

from kina.dialects.base import (
    AXIS_FORMAT,
    TENSOR,
    AxisOp,
    KinaOp,
    Value,
    axis_attribute,
    kina_type_of,
)
from kina.dialects.types import to_ir
from kina.dtypes import I64
from kina.rules.parts import RuleError, check_axis, check_host, without_axis
from kina.types import Dim, TensorType, format_dims


class InternalOp(KinaOp, ABC):
    """An operation outside the op table, with a type rule of its own."""

    traits = traits_def(Pure())

    @abstractmethod
    def check_types(self) -> TensorType:
        """The result type that the operands ask for; a `RuleError` where they do not fit."""

    def verify_(self) -> None:
        """Apply the type rule."""
        try:
            expected = self.check_types()
        except RuleError as error:
            raise VerifyException(f"{self.rule_name}: {error.message}") from error
        if self.kina_type != expected:
            raise VerifyException(
                f"{self.rule_name}: result has type {self.kina_type}, expected {expected}"
            )


def _check_updates(updates: TensorType, indices: TensorType, expected: tuple[Dim, ...]) -> None:
    """Refuse updates or indices that a scatter does not take."""
    if not updates.dtype.is_float:
        raise RuleError(f"updates have dtype {updates.dtype}, expected a float")
    if indices.dtype is not I64:
        raise RuleError(f"indices have dtype {indices.dtype}, expected I64")
    for operand in (updates, indices):
        check_host("a scatter", operand)
    if updates.dims != expected:
        raise RuleError(
            f"updates have shape {format_dims(updates.dims)}, expected {format_dims(expected)} "
            f"(indices {format_dims(indices.dims)})"
        )


@irdl_op_definition
class ScatterAlongAxisOp(AxisOp, InternalOp):
    """The gradient of take_along_axis: each update at its index along `axis`, zero elsewhere.

    `updates` and `indices` (I64) have the result's shape without the axis.
    """

    name = "kina.scatter_along_axis"

    updates = operand_def(TENSOR)
    indices = operand_def(TENSOR)
    assembly_format = (
        f"$updates `,` $indices{AXIS_FORMAT} `:` "
        "type($updates) `,` type($indices) `->` type($result)"
    )

    def __init__(self, updates: Value, indices: Value, axis: int, size: Dim) -> None:
        type_ = kina_type_of(updates)
        dims = (*type_.dims[:axis], size, *type_.dims[axis:])
        super().__init__(
            operands=[updates, indices],
            properties={"axis": axis_attribute(axis)},
            result_types=[to_ir(type_.with_dims(dims))],
        )

    def check_types(self) -> TensorType:
        """The updates' type, with any size at the axis."""
        updates, indices = self.kina_operand_types()
        result = self.kina_type
        check_axis(self.rule_name, self.axis_value, result.dims)
        _check_updates(updates, indices, indices.dims)
        around = without_axis(result.dims, self.axis_value)
        if around != indices.dims:
            raise RuleError(
                f"result has shape {format_dims(result.dims)}, expected {format_dims(indices.dims)}"
                f" with one dimension more at axis {self.axis_value}"
            )
        return updates.with_dims(result.dims)


@irdl_op_definition
class ScatterAddOp(InternalOp):
    """The gradient of gather: row `indices[i]` of the result is the sum of its updates.

    `updates` has the indices' shape and then `D`; the result is `[V, D]`. Each sum starts from 0
    and takes the updates in row-major order of the indices, in F32; it rounds once.
    """

    name = "kina.scatter_add"

    updates = operand_def(TENSOR)
    indices = operand_def(TENSOR)
    assembly_format = (
        "$updates `,` $indices attr-dict `:` type($updates) `,` type($indices) `->` type($result)"
    )

    def __init__(self, updates: Value, indices: Value, size: Dim) -> None:
        type_ = kina_type_of(updates)
        super().__init__(
            operands=[updates, indices],
            result_types=[to_ir(type_.with_dims((size, *type_.dims[-1:])))],
        )

    def check_types(self) -> TensorType:
        """A table `[V, D]` for any V."""
        updates, indices = self.kina_operand_types()
        result = self.kina_type
        _check_updates(updates, indices, (*indices.dims, *updates.dims[-1:]))
        if result.rank != 2:
            raise RuleError(f"result has shape {format_dims(result.dims)}, expected rank 2")
        return updates.with_dims((result.dims[0], *updates.dims[-1:]))
