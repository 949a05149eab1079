"""NumPy's side of the dtype table; the one leaf that imports NumPy."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from kina.dtypes import DType

Array = np.ndarray[Any, np.dtype[Any]]


@lru_cache
def numpy_dtype(dtype: DType) -> np.dtype[Any]:
    """The NumPy dtype of a Kina dtype; `ml_dtypes` is loaded only if it is one of its."""
    module, _, name = dtype.numpy.rpartition(".")
    return np.dtype(getattr(import_module(module), name))
