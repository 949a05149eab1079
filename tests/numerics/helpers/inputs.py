"""Random arrays of every dtype, with the values that break things mixed in."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from kina.arrays import numpy_dtype
from kina.dtypes import DType
from kina.types import Parameter

PROFILES = ("plain", "special", "ties")
"""Moderate numbers; NaN, infinities, zeros, subnormals and extremes among them; few values."""

INDEXED = {"t": "N", "in_B": "B"}
"""Parameters that are indices, and the axis that they index."""
SAMPLES = ("u", "s")


def random_array(
    rng: np.random.Generator, dtype: DType, shape: tuple[int, ...], profile: str = "plain"
) -> np.ndarray:
    """An array of `dtype` and `shape`."""
    if dtype.bits == 1:
        return rng.integers(0, 2, shape).astype(bool)
    make = _floats if dtype.is_float else _integers
    return make(rng, dtype, shape, profile)


def bit_dtype(dtype: DType) -> np.dtype:
    """The unsigned integers that hold the bits of one element at rest."""
    return np.dtype(f"u{dtype.storage_bits // 8}")


def all_codes(dtype: DType) -> np.ndarray:
    """Every value of an 8- or 16-bit float, in the order of its bits."""
    return np.arange(1 << dtype.bits).astype(bit_dtype(dtype)).view(numpy_dtype(dtype))


def _floats(
    rng: np.random.Generator, dtype: DType, shape: tuple[int, ...], profile: str
) -> np.ndarray:
    array = (rng.standard_normal(shape) * 3).astype(np.float32).astype(numpy_dtype(dtype))
    if profile == "ties":
        # In half of the arrays a zero of either sign is the maximum, or the minimum.
        few = [-2.0, -1.0, -0.0, 0.0, 1.0, 2.0]
        start = 2 * int(rng.integers(0, 3))
        chosen = few[:4] if start == 0 else few[2:] if start == 2 else few
        return np.asarray(rng.choice(chosen, shape), np.float32).astype(numpy_dtype(dtype))
    if profile == "special":
        chosen = np.asarray(rng.random(shape) < 0.3)
        return np.where(chosen, rng.choice(_special_floats(dtype), shape), array)
    return array


def _special_floats(dtype: DType) -> np.ndarray:
    """NaN, infinities, zeros, the extremes, subnormals, and codes from anywhere."""
    bits = bit_dtype(dtype)
    if dtype.bits < 32:
        codes = np.random.default_rng(dtype.bits).permutation(1 << dtype.bits)[:24].astype(bits)
        return np.concatenate([codes.view(numpy_dtype(dtype)), _named_floats(dtype)])
    codes = np.random.default_rng(32).integers(0, 1 << 32, 16, dtype=np.uint32)
    return np.concatenate([codes.view(np.float32), _named_floats(dtype)])


def _named_floats(dtype: DType) -> np.ndarray:
    tiny = np.array([0, 1, 2], bit_dtype(dtype)).view(numpy_dtype(dtype))
    highest = np.inf if dtype.highest == "inf" else np.nan
    plain = np.array([np.nan, highest, -highest, 0.0, -0.0, 1.0, -1.0, 88.0, -88.0], np.float32)
    largest = _largest(dtype)
    return np.concatenate([plain.astype(numpy_dtype(dtype)), tiny, -tiny, largest, -largest])


def _largest(dtype: DType) -> np.ndarray:
    codes = np.arange(1, 1 << 9, dtype=np.uint32)
    top = ((1 << (dtype.bits - 1)) - codes).astype(bit_dtype(dtype)).view(numpy_dtype(dtype))
    if dtype.bits == 32:
        return np.array([np.finfo(np.float32).max], np.float32)
    return top[np.isfinite(top.astype(np.float32))][:1]


def _integers(
    rng: np.random.Generator, dtype: DType, shape: tuple[int, ...], profile: str
) -> np.ndarray:
    low, high = int(dtype.lowest), int(dtype.highest)
    small = rng.integers(-2, 3, shape) if profile == "ties" else rng.integers(low, high + 1, shape)
    if profile == "special":
        edges = [low, low + 1, -1, 0, 1, high - 1, high]
        for power in range(10, dtype.bits - 1, 5):
            # Halfway between two BF16 values, and next to it: rounding twice goes wrong here.
            tie = (1 << power) + (1 << (power - 8))
            edges += [tie, tie + 1, tie - 1, -tie - 1]
        edges = np.array(edges, np.int64)
        small = np.where(rng.random(shape) < 0.5, rng.choice(edges, shape), small)
    return np.asarray(small).astype(np.int64).astype(numpy_dtype(dtype))


def random_argument(
    rng: np.random.Generator, parameter: Parameter, sizes: Mapping[str, int], profile: str
) -> np.ndarray:
    """An argument in range: `t` picks along N, `in_B` along B; `u` and `s` are samples."""
    shape = tuple(dim if isinstance(dim, int) else sizes[dim] for dim in parameter.type.dims)
    if parameter.name in INDEXED:
        return rng.integers(0, sizes[INDEXED[parameter.name]], shape)
    if parameter.name in SAMPLES:
        return rng.uniform(0.001, 0.999, shape).astype(np.float32)
    return random_array(rng, parameter.type.dtype, shape, profile)
