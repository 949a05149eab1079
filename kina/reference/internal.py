"""The operations of reverse mode, which have no row in the op table, on NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

import numpy as np

from kina.arrays import Array
from kina.dialects.contraction import ContractOp
from kina.dialects.internal import InternalOp, ScatterAddOp, ScatterAlongAxisOp
from kina.dialects.scan import RecurrenceOp, ReverseOp
from kina.dialects.selection import PutPlacesOp, TakePlacesOp
from kina.dialects.types import from_ir
from kina.reference.contraction import contract
from kina.reference.numbers import narrow, widen

Shape = tuple[int, ...]


def _scatter_along_axis(op: ScatterAlongAxisOp, operands: Sequence[Array], shape: Shape) -> Array:
    updates, indices = operands
    result = np.zeros(shape, updates.dtype)
    # NumPy takes at most 63 index arrays, so the axes before and after are merged.
    before = prod(shape[: op.axis_value])
    after = prod(shape[op.axis_value + 1 :])
    merged = result.reshape(before, shape[op.axis_value], after)
    one = (before, 1, after)
    np.put_along_axis(merged, indices.reshape(one), updates.reshape(one), 1)
    return result


def _scatter_add(op: ScatterAddOp, operands: Sequence[Array], shape: Shape) -> Array:
    """`add.at` takes the rows in order; like every sum, in float64 and rounded to F32 once."""
    updates, indices = operands
    dtype = from_ir(op.updates.type).dtype
    total = np.zeros(shape, np.float64)
    rows = widen(updates, dtype).reshape(indices.size, shape[1])
    np.add.at(total, indices.reshape(-1), rows.astype(np.float64))
    return narrow(total.astype(np.float32), dtype)


def _contract(op: ContractOp, operands: Sequence[Array], shape: Shape) -> Array:
    dtype = from_ir(op.left.type).dtype
    left, right = (widen(operand, dtype) for operand in operands)
    return narrow(contract(left, right, op.loops, dtype), dtype)


def _reverse(op: ReverseOp, operands: Sequence[Array], shape: Shape) -> Array:
    return np.flip(operands[0], op.axis_value)


def _recurrence(op: RecurrenceOp, operands: Sequence[Array], shape: Shape) -> Array:
    """One element after the other, in F32."""
    factors, terms = (np.moveaxis(operand, op.axis_value, 0) for operand in operands)
    states = np.empty_like(factors)
    held = np.full(factors.shape[1:], op.start_value, np.float32)
    for place, (factor, term) in enumerate(zip(factors, terms, strict=True)):
        states[place] = held
        held = held * factor + term
    return np.moveaxis(states, 0, op.axis_value)


def _take_places(op: TakePlacesOp, operands: Sequence[Array], shape: Shape) -> Array:
    """The values broadcast, along all axes but this one."""
    values, places = operands
    own = values.shape[op.axis_value - (places.ndim - values.ndim)]
    axis = op.axis_value
    spread = np.broadcast_to(values, (*shape[:axis], own, *shape[axis + 1 :]))
    taken = np.take_along_axis(_merged(spread, axis), _merged(places, axis), 1)
    return taken.reshape(shape)


def _put_places(op: PutPlacesOp, operands: Sequence[Array], shape: Shape) -> Array:
    updates, places = operands
    result = np.zeros(shape, updates.dtype)
    axis = op.axis_value
    np.put_along_axis(_merged(result, axis), _merged(places, axis), _merged(updates, axis), 1)
    return result


def _merged(array: Array, axis: int) -> Array:
    """A view of three axes, the middle one this: NumPy takes at most 63 index arrays."""
    shape = array.shape
    return array.reshape(prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :]))


INTERNAL: Mapping[type[InternalOp], Callable[..., Array]] = {
    ScatterAlongAxisOp: _scatter_along_axis,
    ScatterAddOp: _scatter_add,
    ContractOp: _contract,
    ReverseOp: _reverse,
    RecurrenceOp: _recurrence,
    TakePlacesOp: _take_places,
    PutPlacesOp: _put_places,
}
"""The meaning of each: from the operation, its operands and its result's shape."""
