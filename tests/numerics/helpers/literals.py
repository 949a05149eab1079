"""Numbers as a program writes them, and what they are in each dtype."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from helpers.rounding import round_small
from kina.arrays import numpy_dtype
from kina.dtypes import DType, Kind

NUMBERS: dict[Kind, tuple[str, ...]] = {
    Kind.FLOAT: ("0.0", "1.0", "2.5", "0.1", "3", "1e-2", "16.25", "0.333"),
    Kind.INT: ("0", "1", "2", "5", "7"),
}
"""What may stand beside a tensor in arithmetic."""

LITERALS: dict[Kind, tuple[str, ...]] = {
    Kind.FLOAT: (*NUMBERS[Kind.FLOAT], "-1.5", "-0.0", "nan", "-0.7"),
    Kind.INT: (*NUMBERS[Kind.INT], "-8", "-1"),
    Kind.BOOL: ("true", "false"),
}
"""What a tensor literal may hold, whatever its dtype."""


def literal_array(dtype: DType, values: list[str], shape: tuple[int, ...]) -> np.ndarray:
    """The tensor that a literal with these values (one: a splat) stands for."""
    items = [_value(dtype, text) for text in values]
    plain = np.array(items, np.float32 if dtype.is_float else None).astype(numpy_dtype(dtype))
    return np.array(np.broadcast_to(plain.reshape(-1), (math.prod(shape),))).reshape(shape)


def _value(dtype: DType, text: str) -> float | int | bool:
    if dtype.bits == 1:
        return text == "true"
    if dtype.is_int:
        return int(text)
    number = float(text)
    if dtype.bits == 32 or math.isnan(number):
        return number
    return math.copysign(round_small(Fraction(text), dtype), number)
