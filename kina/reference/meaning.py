"""What each operation of the op table means, on NumPy arrays.

Sums, exp, log and the softmax family compute in float64 and round once to F32, so that the
reference is the accurate side of a comparison; everything else is F32 or integer arithmetic, and
compiled programs agree with it bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from kina.arrays import Array, numpy_dtype
from kina.dtypes import DType
from kina.ops import OPS, Family
from kina.order import cumulative_sum, ordered_prod
from kina.reference import philox
from kina.reference.contraction import product
from kina.reference.elementwise import ELEMENTWISE
from kina.reference.numbers import convert, narrow, ordered, unordered, widen
from kina.reference.site import Meaning, Site


def _to_f32(array: Array) -> Array:
    return array.astype(np.float32)


def _broadcast(site: Site, operands: Sequence[Array]) -> Array:
    return np.broadcast_to(operands[0], site.shape)


def _reshape(site: Site, operands: Sequence[Array]) -> Array:
    return np.reshape(operands[0], site.shape)


def _cast(site: Site, operands: Sequence[Array]) -> Array:
    target = site.attributes["dtype"]
    assert isinstance(target, DType)
    return convert(operands[0], site.dtype, target)


def _reduce(site: Site, operands: Sequence[Array]) -> Array:
    kind = site.attributes["op"]
    assert isinstance(kind, str)
    return np.reshape(_REDUCTIONS[kind](site, operands[0]), site.shape)


def _sum(site: Site, array: Array) -> Array:
    wide = widen(array, site.dtype)
    if not site.dtype.is_float:
        return narrow(np.asarray(np.sum(wide, axis=site.axis, dtype=np.int64)), site.dtype)
    return narrow(_f32_sum(wide, site.axis), site.dtype)


def _f32_sum(wide: Array, axis: int) -> Array:
    return np.asarray(np.sum(wide, axis=axis, dtype=np.float64)).astype(np.float32)


def _mean(site: Site, array: Array) -> Array:
    """The F32 sum over the size."""
    size = np.float32(array.shape[site.axis])
    return narrow(np.asarray(_f32_sum(widen(array, site.dtype), site.axis) / size), site.dtype)


def _max(site: Site, array: Array) -> Array:
    return _extreme(site, array, np.maximum)


def _min(site: Site, array: Array) -> Array:
    return _extreme(site, array, np.minimum)


def _extreme(site: Site, array: Array, pick: np.ufunc) -> Array:
    """NaN propagates and -0.0 < +0.0: the extreme of order-preserving integer images."""
    wide = widen(array, site.dtype)
    if not site.dtype.is_float:
        return narrow(np.asarray(pick.reduce(wide, axis=site.axis)), site.dtype)
    best = np.asarray(pick.reduce(ordered(wide), axis=site.axis))
    poisoned = np.isnan(wide).any(axis=site.axis)
    return narrow(np.where(poisoned, np.float32(np.nan), unordered(best)), site.dtype)


def _argmax(site: Site, array: Array) -> Array:
    """The lowest index of the maximum (seed 17); NaN lanes count as the start value.

    The start value is max's identity; a fiber whose maximum is not above it gives 0, as the seed's
    strict comparison does.
    """
    wide = widen(array, site.dtype)
    start = wide.dtype.type(site.dtype.lowest)
    lanes = np.where(np.isnan(wide), start, wide) if site.dtype.is_float else wide
    return np.argmax(np.maximum(lanes, start), axis=site.axis).astype(np.int64)


def _argmin(site: Site, array: Array) -> Array:
    """The same for the minimum, whose identity is the start value."""
    wide = widen(array, site.dtype)
    start = wide.dtype.type(site.dtype.highest)
    lanes = np.where(np.isnan(wide), start, wide) if site.dtype.is_float else wide
    return np.argmin(np.minimum(lanes, start), axis=site.axis).astype(np.int64)


def _prod(site: Site, array: Array) -> Array:
    """In the language's order: whether a product overflows on the way depends on it."""
    wide = widen(array, site.dtype)
    if not site.dtype.is_float:
        return narrow(np.asarray(np.prod(wide, axis=site.axis, dtype=np.int64)), site.dtype)
    return narrow(ordered_prod(wide, site.axis), site.dtype)


def _any(site: Site, array: Array) -> Array:
    return np.any(array, axis=site.axis)


def _all(site: Site, array: Array) -> Array:
    return np.all(array, axis=site.axis)


def _cumsum(site: Site, operands: Sequence[Array]) -> Array:
    wide = widen(operands[0], site.dtype)
    if not site.dtype.is_float:
        return narrow(np.cumsum(wide, axis=site.axis, dtype=np.int64), site.dtype)
    return narrow(cumulative_sum(wide, site.axis), site.dtype)


def _top_k(site: Site, operands: Sequence[Array]) -> Array:
    """A stable sort, the largest first; of numbers that are equal the lower index, NaNs last."""
    k = site.attributes["k"]
    assert isinstance(k, int)
    wide = widen(operands[0], site.dtype)
    # Upside down and with -1 - x of integers, which never wraps; NumPy sorts NaNs to the end.
    turned = np.negative(wide) if site.dtype.is_float else np.invert(wide)
    order = np.argsort(turned, axis=site.axis, kind="stable")
    return order[_window(site.axis, 0, k)].astype(np.int64)


_REDUCTIONS: dict[str, Callable[[Site, Array], Array]] = {
    "sum": _sum,
    "max": _max,
    "min": _min,
    "mean": _mean,
    "argmax": _argmax,
    "argmin": _argmin,
    "prod": _prod,
    "any": _any,
    "all": _all,
}


def _shifted(site: Site, operand: Array) -> Array:
    """`x - max(x)` of each fiber, in float64; NaN and +inf poison their fiber."""
    exact = widen(operand, site.dtype).astype(np.float64)
    return exact - np.max(exact, axis=site.axis, keepdims=True)


def _softmax(site: Site, operands: Sequence[Array]) -> Array:
    powers = np.exp(_shifted(site, operands[0]))
    total = np.sum(powers, axis=site.axis, keepdims=True)
    return narrow(_to_f32(powers / total), site.dtype)


def _log_softmax(site: Site, operands: Sequence[Array]) -> Array:
    shifted = _shifted(site, operands[0])
    total = np.sum(np.exp(shifted), axis=site.axis, keepdims=True)
    return narrow(_to_f32(shifted - np.log(total)), site.dtype)


def _logsumexp(site: Site, operands: Sequence[Array]) -> Array:
    """The maximum where it is infinite."""
    exact = widen(operands[0], site.dtype).astype(np.float64)
    largest = np.asarray(np.max(exact, axis=site.axis))
    total = np.sum(np.exp(_shifted(site, operands[0])), axis=site.axis)
    result = np.asarray(np.where(np.isinf(largest), largest, largest + np.log(total)))
    return narrow(_to_f32(result), site.dtype)


def _norm(site: Site, operands: Sequence[Array]) -> Array:
    """rms_norm, and layer_norm, which has a bias."""
    wide: list[Array] = [widen(x, site.dtype).astype(np.float64) for x in operands]
    value, *parameters = wide
    eps = site.attributes["eps"]
    assert isinstance(eps, float)
    if len(parameters) == 2:
        value = value - np.mean(value, axis=site.axis, keepdims=True)
    square = np.mean(value * value, axis=site.axis, keepdims=True)
    along = [size if axis == site.axis else 1 for axis, size in enumerate(value.shape)]
    weight, *bias = (parameter.reshape(along) for parameter in parameters)
    result = np.asarray(value / np.sqrt(square + eps) * weight)
    return narrow(_to_f32(np.asarray(result + bias[0]) if bias else result), site.dtype)


def _gather(site: Site, operands: Sequence[Array]) -> Array:
    values, indices = operands
    return values[indices]


def _take_along_axis(site: Site, operands: Sequence[Array]) -> Array:
    values, indices = operands
    # A split selection broadcasts. NumPy takes at most 63 index arrays, so the axes are merged.
    before, after = indices.shape[: site.axis], indices.shape[site.axis :]
    size = values.shape[values.ndim - 1 - len(after)]
    outer, inner = prod(before), prod(after)
    merged = np.broadcast_to(values, (*before, size, *after)).reshape(outer, size, inner)
    taken = np.take_along_axis(merged, indices.reshape(outer, 1, inner), 1)
    return taken.reshape(indices.shape)


def _matmul(site: Site, operands: Sequence[Array]) -> Array:
    left, right = (widen(operand, site.dtype) for operand in operands)
    return narrow(product(left, right, site.dtype), site.dtype)


def _iota(site: Site, operands: Sequence[Array]) -> Array:
    steps = [1] * len(site.shape)
    steps[site.axis] = site.shape[site.axis]
    counted = np.arange(site.shape[site.axis], dtype=np.int64).reshape(steps)
    return np.broadcast_to(counted, site.shape)


def _random_uniform(site: Site, operands: Sequence[Array]) -> Array:
    key, offset = operands[0].tolist()
    return philox.uniform(key, offset, site.shape)


def _transpose(site: Site, operands: Sequence[Array]) -> Array:
    axes = site.attributes["axes"]
    assert isinstance(axes, tuple)
    return np.transpose(operands[0], [int(axis) for axis in axes])


def _concat(site: Site, operands: Sequence[Array]) -> Array:
    return np.concatenate(operands, axis=site.axis)


def _slice(site: Site, operands: Sequence[Array]) -> Array:
    operand, start = operands
    return operand[_window(site.axis, int(start), site.shape[site.axis])]


def _update(site: Site, operands: Sequence[Array]) -> Array:
    operand, new, at = operands
    result = np.array(operand)
    result[_window(site.axis, int(at), new.shape[site.axis])] = new
    return result


def _window(axis: int, start: int, size: int) -> tuple[slice, ...]:
    return (*[slice(None)] * axis, slice(start, start + size))


_FAMILIES: dict[Family, Meaning] = {
    Family.REDUCE: _reduce,
    Family.CAST: _cast,
    Family.CONTRACTION: _matmul,
    Family.SCAN: _cumsum,
    Family.SELECTION: _top_k,
}

_OPS: dict[str, Meaning] = {
    **ELEMENTWISE,
    "broadcast": _broadcast,
    "reshape": _reshape,
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "rms_norm": _norm,
    "layer_norm": _norm,
    "gather": _gather,
    "take_along_axis": _take_along_axis,
    "iota": _iota,
    "random_uniform": _random_uniform,
    "transpose": _transpose,
    "concat": _concat,
    "slice": _slice,
    "update": _update,
}

MEANINGS: dict[str, Meaning] = {
    name: _OPS[name] if name in _OPS else _FAMILIES[op.family]
    for name, op in OPS.items()
    if name in _OPS or op.family in _FAMILIES
}
"""The meaning of every row of the op table."""


def apply(site: Site, operands: Sequence[Array]) -> Array:
    """The result of one operation, of the shape and NumPy dtype of its Kina type."""
    return np.asarray(MEANINGS[site.op.name](site, operands))


def payload(raw: bytes, dtype: DType, shape: tuple[int, ...]) -> Array:
    """The elements of a constant; MLIR writes a true Bool as 0xFF and a splat as one element."""
    if dtype.bits == 1:
        elements = np.frombuffer(raw, np.uint8) != 0
    else:
        elements = np.frombuffer(raw, numpy_dtype(dtype))
    one = elements.size == 1
    return np.broadcast_to(elements[0], shape) if one else elements.reshape(shape)
