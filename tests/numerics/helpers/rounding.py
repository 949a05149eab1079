"""Rounding to a Kina float in integer arithmetic, from its table of codes; no casts involved."""

from __future__ import annotations

import math
from bisect import bisect_right
from fractions import Fraction
from functools import cache

import numpy as np

from helpers.inputs import all_codes
from kina.dtypes import DType


@cache
def _codes(dtype: DType) -> tuple[list[Fraction], float]:
    """The non-negative values, with the one that would come after the largest; what it means."""
    with np.errstate(invalid="ignore"):
        half = all_codes(dtype)[: 1 << (dtype.bits - 1)].astype(np.float64)
    finite = [Fraction(float(value)) for value in half[np.isfinite(half)]]
    overflow = math.nan if dtype.lowest != "-inf" else math.inf
    return [*finite, 2 * finite[-1] - finite[-2]], overflow


def round_small(value: Fraction, dtype: DType) -> float:
    """An exact number as an 8- or 16-bit float: nearest, ties to the even code."""
    codes, overflow = _codes(dtype)
    size = abs(value)
    if size >= codes[-1]:
        return math.copysign(overflow, value)
    below = bisect_right(codes, size) - 1
    gaps = size - codes[below], codes[below + 1] - size
    code = below if gaps[0] < gaps[1] or (gaps[0] == gaps[1] and below % 2 == 0) else below + 1
    result = overflow if code == len(codes) - 1 else float(codes[code])
    return math.copysign(result, value)


def round_f32_integer(value: int) -> float:
    """An integer as F32: nearest, ties to even."""
    shift = max(0, abs(value).bit_length() - 24)
    whole, rest = abs(value) >> shift, abs(value) & ((1 << shift) - 1)
    half = (1 << shift) >> 1
    if shift and (rest > half or (rest == half and whole % 2)):
        whole += 1
    return math.copysign(float(whole << shift), value)


def round_f32(value: Fraction) -> float:
    """An exact number as F32: nearest, ties to even; subnormals and overflow as they come."""
    if not value:
        return 0.0
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    unit = Fraction(2) ** max(exponent - 23, -149)
    result = round(size / unit) * unit  # round() takes ties to even
    return math.copysign(math.inf if result >= 2**128 else float(result), value)
