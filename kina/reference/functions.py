"""Functions of float64 that NumPy lacks."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from kina.arrays import Array

_ERF = np.frompyfunc(math.erf, 1, 1)


def erf(x: Array) -> Array:
    """The error function."""
    return np.asarray(_ERF(x), np.float64)


FUNCTIONS: dict[str, Callable[..., Array]] = {"erf": erf}
"""The float64 meaning of elementwise operations without a NumPy twin."""
