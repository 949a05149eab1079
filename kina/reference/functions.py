"""Functions of float64 that NumPy lacks."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from kina.arrays import Array

_ERF = np.frompyfunc(math.erf, 1, 1)
_ERFC = np.frompyfunc(math.erfc, 1, 1)


def erf(x: Array) -> Array:
    """The error function."""
    return np.asarray(_ERF(x), np.float64)


def sigmoid(x: Array) -> Array:
    """`1 / (1 + exp(-x))`."""
    power = np.exp(-np.abs(x))
    return np.where(x < 0, power, 1.0) / (1.0 + power)


def log_sigmoid(x: Array) -> Array:
    """`log(sigmoid(x))`."""
    return np.minimum(x, 0.0) - np.log1p(np.exp(-np.abs(x)))


def softplus(x: Array) -> Array:
    """`log(1 + exp(x))`."""
    return np.maximum(x, 0.0) + np.log1p(np.exp(-np.abs(x)))


def silu(x: Array) -> Array:
    """`x * sigmoid(x)`, -0.0 at -inf."""
    return _weighed(x, sigmoid(x))


def gelu(x: Array) -> Array:
    """`x` times the share of a normal distribution below x, -0.0 at -inf."""
    return _weighed(x, 0.5 * np.asarray(_ERFC(x * -math.sqrt(0.5)), np.float64))


def gelu_tanh(x: Array) -> Array:
    """`x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x^3))) / 2`, -0.0 at -inf."""
    return _weighed(x, sigmoid(2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def _weighed(x: Array, share: Array) -> Array:
    return np.maximum(x, np.finfo(np.float64).min) * share


def xlogy(x: Array, y: Array) -> Array:
    """`x * log(y)`, 0 where x is 0."""
    return np.where(x == 0, 0.0, x * np.log(y))


FUNCTIONS: dict[str, Callable[..., Array]] = {
    function.__name__: function
    for function in (erf, sigmoid, log_sigmoid, softplus, silu, gelu, gelu_tanh, xlogy)
}
"""The float64 meaning of elementwise operations without a NumPy twin."""
