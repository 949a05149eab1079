"""Numbers of the language as NumPy holds them: dtypes, and the exact rules of conversion.

One operation computes on *wide* arrays (small floats as F32, I4 as I8) and narrows its result once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kina.arrays import Array, numpy_dtype
from kina.dtypes import DType, Kind

_STICKY_BITS = 11
"""An I64 without its lowest 11 bits is exact in float64."""


def widen(array: Array, dtype: DType) -> Array:
    """The same numbers in the dtype that one operation computes in."""
    if dtype.is_small_float:
        return array.astype(np.float32)
    return array.astype(np.int8) if dtype.bits == 4 else array


def narrow(array: Array, dtype: DType) -> Array:
    """A computed array as `dtype`: floats rounded once to nearest even, integers wrapped."""
    if dtype.is_int:
        return wrap(array, dtype)
    return array.astype(numpy_dtype(dtype))


def wrap(array: Array, dtype: DType) -> Array:
    """Integers modulo 2^bits, in two's complement."""
    if dtype.bits != 4:
        return array.astype(numpy_dtype(dtype))
    low = array.astype(np.int8) & np.int8(15)
    return ((low ^ np.int8(8)) - np.int8(8)).astype(numpy_dtype(dtype))


def ordered(array: Array) -> Array:
    """F32 as integers in the same order, where -0.0 < +0.0."""
    bits = array.view(np.int32)
    return bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF))


def unordered(integers: Array) -> Array:
    """The F32 that `ordered` made integers of."""
    bits = integers ^ ((integers >> np.int32(31)) & np.int32(0x7FFFFFFF))
    return bits.view(np.float32)


def convert(array: Array, source: DType, target: DType) -> Array:
    """The language's `cast`, on an array of dtype `source`."""
    if source is target:
        return array
    return _CONVERSIONS[source.kind, target.kind](array, source, target)


def _float_to_float(array: Array, source: DType, target: DType) -> Array:
    return widen(array, source).astype(numpy_dtype(target))


def _float_to_int(array: Array, source: DType, target: DType) -> Array:
    """Toward zero, saturating; NaN gives 0. The limits are powers of two, exact in float64."""
    whole = np.trunc(widen(array, source).astype(np.float64))
    low, high = int(target.lowest), int(target.highest)
    inside = (whole > low) & (whole < high)
    result = np.where(inside, whole, 0.0).astype(np.int64)
    result = np.where(whole >= high, np.int64(high), result)
    return wrap(np.where(whole <= low, np.int64(low), result), target)


def _int_to_float(array: Array, source: DType, target: DType) -> Array:
    wide = widen(array, source)
    if not target.is_small_float:
        return wide.astype(numpy_dtype(target))
    return _odd_float32(wide.astype(np.int64)).astype(numpy_dtype(target))


def _odd_float32(integers: Array) -> Array:
    """I64 as F32, rounded to odd: a second rounding to a smaller float is then as good as one."""
    mask = np.int64((1 << _STICKY_BITS) - 1)
    sticky = ((integers & mask) != 0).astype(np.int64) << _STICKY_BITS
    large = np.abs(integers.astype(np.float64)) >= 2.0**53
    exact = np.where(large, (integers & ~mask) | sticky, integers).astype(np.float64)
    nearest = exact.astype(np.float32)
    bits = np.where(nearest == exact, nearest, _toward_zero(nearest, exact))
    inexact = nearest != exact
    return (bits.view(np.int32) | inexact.astype(np.int32)).view(np.float32)


def _toward_zero(nearest: Array, exact: Array) -> Array:
    away = np.abs(nearest) > np.abs(exact)
    return np.where(away, np.nextafter(nearest, np.float32(0)), nearest)


def _int_to_int(array: Array, source: DType, target: DType) -> Array:
    return wrap(widen(array, source), target)


def _to_bool(array: Array, source: DType, target: DType) -> Array:
    """`x != 0`, so NaN is true."""
    return widen(array, source) != 0


def _from_bool(array: Array, source: DType, target: DType) -> Array:
    return array.astype(np.int8).astype(numpy_dtype(target))


_CONVERSIONS: dict[tuple[Kind, Kind], Callable[[Array, DType, DType], Array]] = {
    (Kind.FLOAT, Kind.FLOAT): _float_to_float,
    (Kind.FLOAT, Kind.INT): _float_to_int,
    (Kind.FLOAT, Kind.BOOL): _to_bool,
    (Kind.INT, Kind.FLOAT): _int_to_float,
    (Kind.INT, Kind.INT): _int_to_int,
    (Kind.INT, Kind.BOOL): _to_bool,
    (Kind.BOOL, Kind.FLOAT): _from_bool,
    (Kind.BOOL, Kind.INT): _from_bool,
}
