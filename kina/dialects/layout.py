"""Counting and layout: iota, transpose, slice, concat, update.

A *window* is a range of one axis. `slice` and `update` check where theirs starts, and so are not
`Pure`; simplify-kina splits each into its check and its pure half.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from xdsl.dialects.builtin import I64, DenseArrayBase, IntegerAttr, StringAttr, i64
from xdsl.ir import SSAValue
from xdsl.irdl import (
    IRDLOperation,
    base,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
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
from kina.dialects.elementwise import ConstantOp
from kina.dialects.types import from_ir, to_ir
from kina.dims import is_polynomial
from kina.rules.layout import check_start
from kina.rules.parts import Attributes, RuleError
from kina.types import Dim, Placement, TensorType


@irdl_op_definition
class IotaOp(AxisOp):
    """The position along `axis` at every place, I64."""

    name = "kina.iota"

    assembly_format = f"{AXIS_FORMAT} `:` type($result)"

    traits = traits_def(Pure())

    def __init__(self, dims: Sequence[Dim], axis: int) -> None:
        result = inferred("iota", [], {"dims": tuple(dims), "axis": axis})
        super().__init__(properties={"axis": axis_attribute(axis)}, result_types=[result])

    def rule_attributes(self) -> Attributes:
        """The dimensions and the axis."""
        return {"dims": self.kina_type.dims, "axis": self.axis_value}


@irdl_op_definition
class TransposeOp(KinaOp):
    """Axis k of the result is axis `axes[k]` of the operand."""

    name = "kina.transpose"

    operand = operand_def(TENSOR)
    axes = prop_def(DenseArrayBase[I64])
    assembly_format = (
        "$operand ` ` `{` `axes` `=` $axes `}` attr-dict `:` type($operand) `->` type($result)"
    )

    traits = traits_def(Pure())

    def __init__(self, operand: Value, axes: Sequence[int]) -> None:
        result = inferred("transpose", [operand], {"axes": tuple(axes)})
        super().__init__(
            operands=[operand],
            properties={"axes": DenseArrayBase.from_list(i64, axes)},
            result_types=[result],
        )

    @property
    def axes_values(self) -> tuple[int, ...]:
        """The axes of the operand in the order of the result."""
        return self.axes.get_values()

    def rule_attributes(self) -> Attributes:
        """The axes."""
        return {"axes": self.axes_values}


@irdl_op_definition
class ConcatOp(AxisOp):
    """The inputs one after the other along `axis`."""

    name = "kina.concat"

    inputs = var_operand_def(TENSOR)
    assembly_format = f"$inputs{AXIS_FORMAT} `:` type($inputs) `->` type($result)"

    traits = traits_def(Pure())

    def __init__(self, inputs: Sequence[Value], axis: int) -> None:
        result = inferred("concat", inputs, {"axis": axis})
        super().__init__(
            operands=[inputs], properties={"axis": axis_attribute(axis)}, result_types=[result]
        )


class _Window(AxisOp, ABC):
    """An operation on a range of `axis` that starts at an operand."""

    @property
    def position(self) -> SSAValue:
        """Where the window starts: a rank-0 I64."""
        return self.operands[len(self.operands) - 1]

    @property
    def known_position(self) -> Dim | None:
        """Where the window starts, if that is known at compile time."""
        return constant_position(self.position)

    @property
    def whole(self) -> TensorType:
        """The type of the tensor that the window is a part of."""
        return from_ir(self.operands[0].type)

    @property
    @abstractmethod
    def size(self) -> Dim:
        """How much of the axis the window is."""

    def verify_(self) -> None:
        """The type rule, and a start that is known."""
        super().verify_()
        start = self.known_position
        if start is None:
            return
        try:
            check_start(self.rule_name, self.whole, self.axis_value, self.size, start)
        except RuleError as error:
            raise VerifyException(error.message) from error


def constant_position(value: SSAValue) -> Dim | None:
    """The integer or size that a rank-0 I64 is, if that is known at compile time."""
    op = value.owner
    if isinstance(op, SizeOp):
        return op.size
    if not isinstance(op, ConstantOp) or len(op.value) != 1:
        return None
    found = op.value.get_values()[0]
    return found if isinstance(found, int) else None


class SliceLike(_Window, ABC):
    """The elements of a window."""

    operand = operand_def(TENSOR)
    start = operand_def(TENSOR)
    assembly_format = (
        f"$operand `,` $start{AXIS_FORMAT} `:` type($operand) `,` type($start) `->` type($result)"
    )

    def __init__(self, operand: Value, start: Value, axis: int, size: Dim) -> None:
        result = inferred("slice", [operand, start], {"axis": axis, "size": size})
        super().__init__(
            operands=[operand, start],
            properties={"axis": axis_attribute(axis)},
            result_types=[result],
        )

    @property
    def size(self) -> Dim:
        """How many elements."""
        return self.kina_type.dims[self.axis_value]

    @property
    def rule_name(self) -> str:
        """The checked operation that it is, or is a half of."""
        return "slice"

    def rule_attributes(self) -> Attributes:
        """The axis and the size, which is that of the result."""
        dims, axis = self.kina_type.dims, self.axis_value
        return {"axis": axis, "size": dims[axis] if 0 <= axis < len(dims) else 1}


@irdl_op_definition
class SliceOp(SliceLike):
    """The elements of a window whose start is checked."""

    name = "kina.slice"


@irdl_op_definition
class WindowOp(SliceLike):
    """A slice without its check, and so `Pure`; always after the check."""

    name = "kina.window"

    traits = traits_def(Pure())


class UpdateLike(_Window, ABC):
    """The operand with `new` in a window."""

    operand = operand_def(TENSOR)
    new = operand_def(TENSOR)
    at = operand_def(TENSOR)
    assembly_format = (
        f"$operand `,` $new `,` $at{AXIS_FORMAT} `:` "
        "type($operand) `,` type($new) `,` type($at) `->` type($result)"
    )

    def __init__(self, operand: Value, new: Value, at: Value, axis: int) -> None:
        result = inferred("update", [operand, new, at], {"axis": axis})
        super().__init__(
            operands=[operand, new, at],
            properties={"axis": axis_attribute(axis)},
            result_types=[result],
        )

    @property
    def size(self) -> Dim:
        """How much is written."""
        return from_ir(self.new.type).dims[self.axis_value]

    @property
    def rule_name(self) -> str:
        """The checked operation that it is, or is a half of."""
        return "update"


@irdl_op_definition
class UpdateOp(UpdateLike):
    """The operand with `new` in a window whose start is checked before anything is written."""

    name = "kina.update"


@irdl_op_definition
class OverwriteOp(UpdateLike):
    """An update without its check, and so `Pure`; always after the check."""

    name = "kina.overwrite"

    traits = traits_def(Pure())


@irdl_op_definition
class CheckWindowOp(IRDLOperation):
    """The check of a slice or an update on its own: `size` elements from `start` on fit `within`.

    Made by simplify-kina, in program order; no surface syntax. `what` is the operation that it
    belongs to, and `axis` its axis, for the message; sizes are integers or symbols.
    """

    name = "kina.check_window"

    start = operand_def(TENSOR)
    what = prop_def(StringAttr)
    axis = axis_prop()
    size = prop_def(base(IntegerAttr[I64]) | base(StringAttr))
    within = prop_def(base(IntegerAttr[I64]) | base(StringAttr))
    assembly_format = (
        "$start ` ` `{` `what` `=` $what `,` `axis` `=` $axis `,` `size` `=` $size `,` "
        "`within` `=` $within `}` attr-dict `:` type($start)"
    )

    def __init__(self, start: Value, what: str, axis: int, size: Dim, within: Dim) -> None:
        super().__init__(
            operands=[start],
            properties={
                "what": StringAttr(what),
                "axis": axis_attribute(axis),
                "size": dim_attribute(size),
                "within": dim_attribute(within),
            },
        )

    @property
    def axis_value(self) -> int:
        """The axis of the window, for the message."""
        return self.axis.value.data

    @property
    def size_value(self) -> Dim:
        """The size of the window."""
        return dim_value(self.size)

    @property
    def within_value(self) -> Dim:
        """The size of the axis."""
        return dim_value(self.within)

    def verify_(self) -> None:
        """The start is a rank-0 I64."""
        start = from_ir(self.start.type)
        if start != TensorType(dtypes.I64, ()):
            raise VerifyException(f"check_window: start has type {start}, expected tensor<I64, []>")


@irdl_op_definition
class SizeOp(IRDLOperation):
    """A size as a value: a rank-0 I64. Numbers of the text, and where windows start."""

    name = "kina.size"

    of = prop_def(base(IntegerAttr[I64]) | base(StringAttr))
    result = result_def(TENSOR)
    assembly_format = "` ` `{` `of` `=` $of `}` attr-dict `:` type($result)"

    traits = traits_def(Pure())

    def __init__(self, of: Dim, placement: Placement = Placement.HOST) -> None:
        result = to_ir(TensorType(dtypes.I64, (), placement))
        super().__init__(properties={"of": dim_attribute(of)}, result_types=[result])

    @property
    def size(self) -> Dim:
        """The size."""
        return dim_value(self.of)

    def verify_(self) -> None:
        """The result is a rank-0 I64, and the size in normal form."""
        result = from_ir(self.result.type)
        if result != TensorType(dtypes.I64, (), result.placement):
            raise VerifyException(f"size: result has type {result}, expected tensor<I64, []>")
        if isinstance(self.size, str) and not is_polynomial(self.size):
            raise VerifyException(f"size: `{self.size}` is no size in normal form")
