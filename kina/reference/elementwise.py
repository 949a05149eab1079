"""What elementwise operations mean, on NumPy arrays: most are a NumPy function of the op table."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kina.arrays import Array
from kina.dtypes import DType
from kina.ops import OPS, Family
from kina.reference.functions import FUNCTIONS
from kina.reference.numbers import narrow, ordered, unordered, widen
from kina.reference.site import Meaning, Site


def _twin(site: Site, operands: Sequence[Array]) -> Array:
    """The function of NumPy, in float64 where the op table says so."""
    wide = [widen(operand, site.dtype) for operand in operands]
    function = FUNCTIONS.get(site.op.name) or getattr(np, site.op.numpy)
    if site.op.in_float64:
        wide = [operand.astype(np.float64) for operand in wide]
    result = np.asarray(function(*wide))
    if site.op.family is Family.COMPARE:
        return result
    return narrow(result.astype(np.float32) if site.dtype.is_float else result, site.dtype)


def _div(site: Site, operands: Sequence[Array]) -> Array:
    """Of integers toward zero, 0 where the divisor is 0, and it wraps."""
    left, right = (widen(operand, site.dtype) for operand in operands)
    if site.dtype.is_float:
        return narrow(np.asarray(left / right), site.dtype)
    down = np.floor_divide(left, right)
    inexact = (right != 0) & (down * right != left)
    return narrow(down + (inexact & ((left < 0) != (right < 0))), site.dtype)


def _maximum(site: Site, operands: Sequence[Array]) -> Array:
    return extreme(np.maximum, site.dtype, operands)


def _minimum(site: Site, operands: Sequence[Array]) -> Array:
    return extreme(np.minimum, site.dtype, operands)


def extreme(pick: np.ufunc, dtype: DType, operands: Sequence[Array]) -> Array:
    """The larger or smaller of two: NaN propagates, and -0.0 < +0.0."""
    left, right = (widen(operand, dtype) for operand in operands)
    if not dtype.is_float:
        return narrow(np.asarray(pick(left, right)), dtype)
    best = unordered(np.asarray(pick(ordered(left), ordered(right))))
    poisoned = np.isnan(left) | np.isnan(right)
    return narrow(np.where(poisoned, np.float32(np.nan), best), dtype)


def _clamp(site: Site, operands: Sequence[Array]) -> Array:
    operand, low, high = operands
    return _minimum(site, [_maximum(site, [operand, low]), high])


def _select(site: Site, operands: Sequence[Array]) -> Array:
    condition, yes, no = operands
    return np.where(condition, yes, no)


def _same(site: Site, operands: Sequence[Array]) -> Array:
    return operands[0]


ELEMENTWISE: dict[str, Meaning] = {
    **{op.name: _twin for op in OPS.values() if op.numpy or op.name in FUNCTIONS},
    "div": _div,
    "maximum": _maximum,
    "minimum": _minimum,
    "clamp": _clamp,
    "select": _select,
    "stop_gradient": _same,
}
"""The meaning of each, by its name."""
