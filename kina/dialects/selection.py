"""The best elements of each fiber: where they are, and what they are.

`kina.top_k` of a program gives two results: the places come from the operation of this name, the
values are read there. So a value that nobody wants is not read, and its gradient is that of a read.
"""

from __future__ import annotations

from abc import ABC

from xdsl.dialects.builtin import I64 as I64Type
from xdsl.dialects.builtin import IntegerAttr, i64
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
from kina.dtypes import I64
from kina.rules.parts import Attributes, RuleError, broadcastable, check_axis, check_host
from kina.types import Dim, TensorType, format_dims


@irdl_op_definition
class TopKOp(AxisOp):
    """The places of the `k` largest elements of each fiber along `axis`, the largest first.

    Of equal ones the lower place comes first (-0.0 equals +0.0), and every number before a NaN.
    """

    name = "kina.top_k"

    operand = operand_def(TENSOR)
    k = prop_def(IntegerAttr[I64Type])
    assembly_format = (
        "$operand ` ` `{` `k` `=` $k `,` `axis` `=` $axis `}` attr-dict `:` "
        "type($operand) `->` type($result)"
    )

    traits = traits_def(Pure())

    def __init__(self, operand: Value, k: int, axis: int) -> None:
        super().__init__(
            operands=[operand],
            properties={"k": IntegerAttr(k, i64), "axis": axis_attribute(axis)},
            result_types=[inferred("top_k", [operand], {"k": k, "axis": axis})],
        )

    @property
    def k_value(self) -> int:
        """How many elements of each fiber."""
        return self.k.value.data

    def rule_attributes(self) -> Attributes:
        """k and the axis."""
        return {"k": self.k_value, "axis": self.axis_value}


class PlacesOp(AxisOp, InternalOp, ABC):
    """An operation between a tensor and some places of each of its fibers along `axis`.

    The places are I64, inside of the axis, and differ within a fiber: those of a `kina.top_k`.
    """

    def check_places(self, places: TensorType) -> None:
        """Refuse what are no places."""
        if places.dtype is not I64:
            raise RuleError(f"places have dtype {places.dtype}, expected I64")
        check_host(self.rule_name, places)
        check_axis(self.rule_name, self.axis_value, places.dims)

    def along(self, dims: tuple[Dim, ...], size: Dim) -> tuple[Dim, ...]:
        """Dimensions with another size at the axis."""
        return (*dims[: self.axis_value], size, *dims[self.axis_value + 1 :])


@irdl_op_definition
class TakePlacesOp(PlacesOp):
    """The elements at some places of each fiber.

    The values broadcast implicitly: padded with 1s on the left, each dimension but the one at
    `axis` equals that of the places, or is 1.
    """

    name = "kina.take_places"

    values = operand_def(TENSOR)
    places = operand_def(TENSOR)
    assembly_format = (
        f"$values `,` $places{AXIS_FORMAT} `:` type($values) `,` type($places) `->` type($result)"
    )

    def __init__(self, values: Value, places: Value, axis: int) -> None:
        dims = kina_type_of(places).dims
        super().__init__(
            operands=[values, places],
            properties={"axis": axis_attribute(axis)},
            result_types=[to_ir(kina_type_of(values).with_dims(dims))],
        )

    def check_types(self) -> TensorType:
        """The values' dtype, the places' dimensions."""
        values, places = self.kina_operand_types()
        self.check_places(places)
        own = self.axis_value - (places.rank - values.rank)
        if own < 0 or not broadcastable(values.dims, self.along(places.dims, values.dims[own])):
            raise RuleError(
                f"values have shape {format_dims(values.dims)}, expected {format_dims(places.dims)}"
                f" with any size at axis {self.axis_value}"
            )
        return values.with_dims(places.dims)


@irdl_op_definition
class PutPlacesOp(PlacesOp):
    """The gradient of `kina.take_places`: each update at its place, zero elsewhere."""

    name = "kina.put_places"

    updates = operand_def(TENSOR)
    places = operand_def(TENSOR)
    assembly_format = (
        f"$updates `,` $places{AXIS_FORMAT} `:` type($updates) `,` type($places) `->` type($result)"
    )

    def __init__(self, updates: Value, places: Value, axis: int, size: Dim) -> None:
        type_ = kina_type_of(updates)
        dims = (*type_.dims[:axis], size, *type_.dims[axis + 1 :])
        super().__init__(
            operands=[updates, places],
            properties={"axis": axis_attribute(axis)},
            result_types=[to_ir(type_.with_dims(dims))],
        )

    def check_types(self) -> TensorType:
        """The updates' type, with any size at the axis."""
        updates, places = self.kina_operand_types()
        self.check_places(places)
        if not updates.dtype.is_float:
            raise RuleError(f"updates have dtype {updates.dtype}, expected a float")
        if updates.dims != places.dims:
            raise RuleError(
                f"updates have shape {format_dims(updates.dims)}, expected "
                f"{format_dims(places.dims)} as the places"
            )
        result = self.kina_type
        check_axis(self.rule_name, self.axis_value, result.dims)
        return updates.with_dims(self.along(places.dims, result.dims[self.axis_value]))
