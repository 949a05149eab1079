"""What bare pointers to NumPy arrays need: views with a buffer, bytes without stray bits."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from kina.arrays import Array
from kina.dtypes import DType


@lru_cache
def integer_view(dtype: DType) -> np.dtype[Any] | None:
    """The integers to view an array as before its buffer is exported; None where not needed.

    `ml_dtypes` arrays do not offer the buffer protocol.
    """
    if not dtype.numpy.startswith("ml_dtypes."):
        return None
    return np.dtype(f"uint{dtype.storage_bits}")


def _clean_bool(array: Array) -> Array:
    return np.asarray(array.view(np.uint8) != 0).view(array.dtype)


def _clean_i4(array: Array) -> Array:
    return np.asarray(array.view(np.int8) << 4 >> 4).view(array.dtype)


CLEAN: dict[str, Callable[[Array], Array]] = {"Bool": _clean_bool, "I4": _clean_i4}
"""For dtypes that do not fill their byte: the array with every stray bit gone.

A view of other bytes can hold such bits, and compiled code may copy whole bytes. NumPy's arithmetic
makes a scalar of rank 0, which has no address; these make an array of it.
"""


@lru_cache
def is_clean(dtype: DType) -> Callable[[Array], bool] | None:
    """The test for stray bits; None for dtypes that have none."""
    clean = CLEAN.get(dtype.name)
    if clean is None:
        return None
    if dtype.name == "Bool":
        return lambda array: bool(array.view(np.uint8).max(initial=0) <= 1)
    return lambda array: np.array_equal(array.view(np.uint8), clean(array).view(np.uint8))
