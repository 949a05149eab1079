"""Building kina IR: operations on whole tensors, as composites and gradients are made of.

`builder.py` is its like for scalars; this one appends to a block, each operation with a location.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    AnyFloat,
    DenseIntOrFPElementsAttr,
    LocationAttr,
    TensorType,
    UnitAttr,
)
from xdsl.ir import Block, Operation, SSAValue

from kina.dialects.base import KinaOp
from kina.dialects.elementwise import AddOp, CastOp, ConstantOp, DivOp, ExpOp, MulOp, NegOp, SubOp
from kina.dialects.reduce import ReduceKeepOp, ReduceOp
from kina.dialects.shaping import BroadcastOp, ReshapeOp
from kina.dialects.table import build
from kina.dialects.types import element_type, from_ir
from kina.dtypes import F32, DType
from kina.passes.expand_math import NONPOSITIVE
from kina.types import Dim, Placement
from kina.types import TensorType as KinaType


def type_of(value: SSAValue) -> KinaType:
    """The Kina type of a value."""
    return from_ir(value.type)


class TensorBuilder:
    """Appends to `block`; every operation takes the current `location`."""

    def __init__(self, block: Block, location: LocationAttr) -> None:
        self._block = block
        self.location = location

    def emit(self, op: Operation) -> SSAValue:
        """Append `op`; its result."""
        op.location = self.location
        self._block.add_op(op)
        return op.results[0]

    def taken(self) -> list[Operation]:
        """The operations that were appended, out of the block."""
        appended = list(self._block.ops)
        for op in appended:
            op.detach()
        return appended

    def add(self, left: SSAValue, right: SSAValue) -> SSAValue:
        """`left + right`."""
        return self.emit(AddOp(left, right))

    def sub(self, left: SSAValue, right: SSAValue) -> SSAValue:
        """`left - right`."""
        return self.emit(SubOp(left, right))

    def mul(self, left: SSAValue, right: SSAValue) -> SSAValue:
        """`left * right`."""
        return self.emit(MulOp(left, right))

    def div(self, left: SSAValue, right: SSAValue) -> SSAValue:
        """`left / right`."""
        return self.emit(DivOp(left, right))

    def neg(self, value: SSAValue) -> SSAValue:
        """`-value`."""
        return self.emit(NegOp(value))

    def cast(self, value: SSAValue, dtype: DType) -> SSAValue:
        """`value` as `dtype`; no operation where it is that already."""
        return value if type_of(value).dtype is dtype else self.emit(CastOp(value, dtype))

    def widen(self, value: SSAValue) -> SSAValue:
        """`value` in F32: a rule of several operations computes there and rounds once."""
        return self.cast(value, F32)

    def along(self, value: SSAValue, axis: int, dims: Sequence[Dim]) -> SSAValue:
        """A vector along `axis`, repeated along all other axes."""
        size = type_of(value).dims
        dims = tuple(dims)
        behind = len(dims) - axis - 1
        shaped = self.emit(ReshapeOp(value, size + (1,) * behind)) if behind else value
        return self.spread(shaped, dims)

    def mean_keep(self, value: SSAValue, axis: int) -> SSAValue:
        """The mean along `axis`, which stays with size 1."""
        return self.emit(ReduceKeepOp(value, "mean", axis))

    def rounded(self, value: SSAValue, like: SSAValue) -> SSAValue:
        """`value` in the dtype of `like`."""
        return self.cast(value, type_of(like).dtype)

    def noted(self, op: Operation, *notes: str) -> SSAValue:
        """Append `op` with notes for later passes; its result."""
        op.attributes.update(dict.fromkeys(notes, UnitAttr()))
        return self.emit(op)

    def exp_of_nonpositive(self, value: SSAValue, *notes: str) -> SSAValue:
        """exp of what is never above 0, or NaN."""
        return self.noted(ExpOp(value), NONPOSITIVE, *notes)

    def wide_result(self, op: KinaOp) -> SSAValue:
        """The result of a forward operation in F32, as it was before it rounded to its dtype.

        A small float's logarithm of a probability is a few per cent off, and so is its exp. The
        operation is written again, on F32: simplify-kina sees that it is the forward one.
        """
        if not op.kina_type.dtype.is_small_float:
            return op.result
        operands = [self.widen(operand) for operand in op.operands]
        return self.emit(build(op.rule_name, operands, op.rule_attributes()))

    def named(self, name: str, *operands: SSAValue) -> SSAValue:
        """An operation of the op table without compile-time arguments."""
        return self.emit(build(name, operands, {}))

    def select(self, condition: SSAValue, yes: SSAValue, no: SSAValue) -> SSAValue:
        """`yes` where the condition holds."""
        return self.named("select", condition, yes, no)

    def logical_and(self, left: SSAValue, right: SSAValue) -> SSAValue:
        """`left && right`."""
        return self.named("logical_and", left, right)

    def logical_or(self, left: SSAValue, right: SSAValue) -> SSAValue:
        """`left || right`."""
        return self.named("logical_or", left, right)

    def is_nan(self, value: SSAValue) -> SSAValue:
        """Where a value is NaN."""
        return self.named("not_equal", value, value)

    def reshape(self, value: SSAValue, dims: Sequence[Dim]) -> SSAValue:
        """`value` with other dimensions; no operation where it has them already."""
        same = type_of(value).dims == tuple(dims)
        return value if same else self.emit(ReshapeOp(value, dims))

    def spread(self, value: SSAValue, dims: Sequence[Dim]) -> SSAValue:
        """`value`, broadcast; no operation where it has these dimensions already."""
        same = type_of(value).dims == tuple(dims)
        return value if same else self.emit(BroadcastOp(value, dims))

    def number(self, value: float, type_: KinaType) -> SSAValue:
        """A float everywhere in a tensor of this type."""
        element = cast(AnyFloat, element_type(type_.dtype))
        payload = DenseIntOrFPElementsAttr.from_list(TensorType(element, []), [value])
        return self.spread(self.emit(ConstantOp(payload, type_.placement)), type_.dims)

    def zeros(self, like: SSAValue) -> SSAValue:
        """Zeros of the type of another value."""
        return self.number(0.0, type_of(like))

    def like(self, value: float, other: SSAValue) -> SSAValue:
        """A float everywhere, of the type of another value."""
        return self.number(value, type_of(other))

    def size(self, dim: Dim, placement: Placement) -> SSAValue:
        """A dimension as a rank-0 F32 tensor; a symbol is the sum of as many ones."""
        scalar = KinaType(F32, (), placement)
        if isinstance(dim, int):
            return self.number(float(dim), scalar)
        ones = self.number(1.0, scalar.with_dims((dim,)))
        return self.total(ones, 0)

    def total(self, value: SSAValue, axis: int) -> SSAValue:
        """The sum along `axis`, which goes."""
        return self.emit(ReduceOp(value, "sum", axis))

    def total_keep(self, value: SSAValue, axis: int) -> SSAValue:
        """The sum along `axis`, which stays with size 1."""
        return self.emit(ReduceKeepOp(value, "sum", axis))
