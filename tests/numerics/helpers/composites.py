"""The composites in float64, exact at both ends, and how far a result may be from them.

Written from `docs/language.md` and `docs/accuracy.md`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

Array = np.ndarray

_ERFC = np.vectorize(math.erfc, otypes=[np.float64])


def _sigmoid(x: Array) -> Array:
    power = np.exp(-np.abs(x))
    return np.where(x < 0, power / (1 + power), 1 / (1 + power))


def _rest(x: Array) -> Array:
    return np.log1p(np.exp(-np.abs(x)))


def _times(x: Array, share: Array) -> Array:
    """0 at -inf, where the share is 0."""
    return np.where(x == -np.inf, -0.0, x * share)


def _tanh_argument(x: Array) -> Array:
    return 2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)


EXACT: dict[str, Callable[..., Array]] = {
    "sigmoid": _sigmoid,
    "log_sigmoid": lambda x: np.minimum(x, 0) - _rest(x),
    "softplus": lambda x: np.maximum(x, 0) + _rest(x),
    "silu": lambda x: _times(x, _sigmoid(x)),
    "gelu": lambda x: _times(x, _ERFC(-x / math.sqrt(2)) / 2),
    "gelu_tanh": lambda x: _times(x, _sigmoid(_tanh_argument(x))),
    "xlogy": lambda x, y: np.where(x == 0, 0.0, x * np.log(y)),
}

BOUNDS: dict[str, tuple[float, float]] = {
    "sigmoid": (3, 0),
    "log_sigmoid": (2, 0),
    "softplus": (2, 0),
    "silu": (3, 1e-43),
    "gelu": (3, 2e-7),
    "gelu_tanh": (3, 2e-8),
    "xlogy": (3, 0),
}
"""Ulps of F32, and what is added to them (docs/accuracy.md)."""


def slack(name: str, exact: Array) -> Array:
    """How far from the exact value a result may be; nothing at an infinity."""
    ulps, absolute = BOUNDS[name]
    size = np.where(np.isfinite(exact), np.abs(exact), 0.0)
    with np.errstate(divide="ignore"):
        unit = np.exp2(np.clip(np.floor(np.log2(size)), -126, 127) - 23)
    return np.where(np.isfinite(exact), ulps * unit + absolute, 0.0)


def normed(x: Array, axis: int, eps: float, *parameters: Array) -> tuple[Array, Array, Array]:
    """A norm, its slack, and where an intermediate value may overflow.

    Parameters: the weight and, of layer_norm, the bias. The sums of squares are off by an ulp for
    each step of a lane, and a mean by as much of the largest element.
    """
    along = [size if a == axis else 1 for a, size in enumerate(x.shape)]
    weight, *bias = (parameter.reshape(along) for parameter in parameters)
    shift = x.mean(axis, keepdims=True) if bias else 0.0
    root = np.sqrt(((x - shift) ** 2).mean(axis, keepdims=True) + eps)
    unit = (x - shift) / root
    scaled = unit * weight
    exact = scaled + bias[0] if bias else scaled
    steps = (8 + min(x.shape[axis], 64)) * 2.0**-24
    largest = np.abs(x).max(axis, keepdims=True) / root if bias else 0.0
    relative = np.abs(scaled) * (1 + largest) + np.abs(weight) * largest + np.abs(exact)
    found = steps * relative + (1 + np.abs(weight)) * 2.0**-110
    return exact, np.where(np.isfinite(exact), found, 0.0), np.abs(scaled) >= 2.0**128 * (1 - 1e-5)
