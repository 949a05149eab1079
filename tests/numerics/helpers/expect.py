"""What a result is compared with: exact bits, or an interval of allowed values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from helpers.inputs import bit_dtype
from kina.arrays import numpy_dtype
from kina.dtypes import DType


@dataclass(frozen=True)
class Exact:
    """The same bits; a NaN is a NaN."""

    value: np.ndarray


@dataclass(frozen=True)
class Between:
    """Any value from `low` to `high` (float64), each rounded to the dtype; NaN where `low` is.

    Where `free` holds, anything goes: an intermediate may or may not overflow.
    """

    low: np.ndarray
    high: np.ndarray
    free: np.ndarray | None = None


Expectation = Exact | Between


def check(got: np.ndarray, expected: Expectation, dtype: DType, what: str) -> None:
    """Assert that `got` is as expected, with a message that shows the first difference."""
    assert got.dtype == numpy_dtype(dtype), f"{what}: dtype is {got.dtype}"
    wrong = _differs if isinstance(expected, Exact) else _outside
    with np.errstate(all="ignore"):
        bad = wrong(got, expected, dtype)
    if not bad.any():
        return
    where = tuple(map(int, np.argwhere(bad)[0]))
    shown = _show(expected, where)
    raise AssertionError(f"{what}: {bad.sum()} wrong; at {where} got {got[where]!r}, {shown}")


def same_bits(got: np.ndarray, wanted: np.ndarray, dtype: DType) -> np.ndarray:
    """Where two arrays agree: equal bits, or NaN in both."""
    if dtype.is_float:
        nan = np.isnan(got.astype(np.float32)), np.isnan(wanted.astype(np.float32))
        bits = bit_dtype(dtype)
        equal = np.asarray(got).view(bits) == np.asarray(wanted).view(bits)
        return np.where(nan[0] | nan[1], nan[0] & nan[1], equal)
    return np.asarray(got == wanted)


def _differs(got: np.ndarray, expected: Exact, dtype: DType) -> np.ndarray:
    wanted = np.asarray(expected.value).astype(numpy_dtype(dtype))
    assert got.shape == wanted.shape, f"shape is {got.shape}, expected {wanted.shape}"
    return ~same_bits(np.asarray(got, order="C"), np.asarray(wanted, order="C"), dtype)


def _outside(got: np.ndarray, expected: Between, dtype: DType) -> np.ndarray:
    assert got.shape == expected.low.shape, f"shape is {got.shape}, not {expected.low.shape}"
    value = got.astype(np.float64)
    low, high = (_rounded(bound, dtype) for bound in (expected.low, expected.high))
    inside = np.where(np.isnan(low) & np.isnan(high), np.isnan(value), _within(low, value, high))
    return ~inside if expected.free is None else ~(inside | expected.free)


def _within(low: np.ndarray, value: np.ndarray, high: np.ndarray) -> np.ndarray:
    """One NaN bound: an interval that reaches past the largest value of a dtype without inf."""
    above = (low <= value) | np.isnan(low)
    below = (value <= high) | np.isnan(high)
    return (above & below) | (np.isnan(value) & (np.isnan(low) | np.isnan(high)))


def _rounded(bound: np.ndarray, dtype: DType) -> np.ndarray:
    return bound.astype(np.float32).astype(numpy_dtype(dtype)).astype(np.float64)


def _show(expected: Expectation, where: tuple[int, ...]) -> str:
    if isinstance(expected, Exact):
        return f"expected {np.asarray(expected.value)[where]!r}"
    return f"expected {expected.low[where]!r} .. {expected.high[where]!r}"
