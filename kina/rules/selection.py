"""The type rule of top_k."""

from __future__ import annotations

from collections.abc import Sequence

from kina.dims import MAX_SIZE
from kina.dtypes import I64
from kina.ops import Op
from kina.rules.parts import Attributes, RuleError, axis_of, check_axis
from kina.types import TensorType, format_dims


def top_k(op: Op, operands: Sequence[TensorType], attributes: Attributes) -> TensorType:
    """The places of the best elements, I64, as many as k at the axis.

    The values have the same shape and the operand's dtype. A symbolic size is compared with k at
    the call (`kina.rules.requirements`).
    """
    operand, axis = operands[0], axis_of(attributes)
    check_axis(op.name, axis, operand.dims)
    k = k_of(attributes)
    size = operand.dims[axis]
    if not 1 <= k <= MAX_SIZE:
        raise RuleError(f"{op.name}: k={k} is out of range, expected 1 or more", blame="k")
    if isinstance(size, int) and k > size:
        raise RuleError(
            f"{op.name}: k={k} is more than axis {axis} of shape {format_dims(operand.dims)} has, "
            f"expected 1 .. {size}",
            blame="k",
        )
    return operand.with_dims((*operand.dims[:axis], k, *operand.dims[axis + 1 :])).with_dtype(I64)


def k_of(attributes: Attributes) -> int:
    """How many elements of each fiber are wanted."""
    k = attributes["k"]
    assert isinstance(k, int)
    return k
