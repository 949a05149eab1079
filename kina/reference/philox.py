"""Random numbers on NumPy arrays: Philox 4x32-10."""

from __future__ import annotations

from math import prod

import numpy as np

from kina.arrays import Array
from kina.philox import MULTIPLIERS, ROUNDS, STEPS

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


def uniform(key: int, offset: int, shape: tuple[int, ...]) -> Array:
    """Element i, in row-major order: the upper 23 bits of word i mod 4 of block offset + i div 4.

    They are the middles of 2^23 equal parts of (0, 1), and exact in F32.
    """
    count = prod(shape)
    numbers = np.arange(-(-count // 4), dtype=np.uint64) + np.uint64(offset % 2**64)
    words = np.stack(blocks(key, numbers), axis=1).reshape(-1)[:count]
    odd = (words >> np.uint64(8)) | np.uint64(1)
    return (odd.astype(np.float32) * np.float32(2**-24)).reshape(shape)


def blocks(key: int, numbers: Array) -> list[Array]:
    """The four words of each block; words 0 and 1 of a counter are its number, the others 0."""
    zero = np.zeros_like(numbers)
    counter: list[Array] = [numbers & _LOW, numbers >> _HALF, zero, zero]
    keys = [key % 2**32, (key >> 32) % 2**32]
    for _ in range(ROUNDS):
        first = counter[0] * np.uint64(MULTIPLIERS[0])
        second = counter[2] * np.uint64(MULTIPLIERS[1])
        counter = [
            (second >> _HALF) ^ counter[1] ^ np.uint64(keys[0]),
            second & _LOW,
            (first >> _HALF) ^ counter[3] ^ np.uint64(keys[1]),
            first & _LOW,
        ]
        keys = [(word + step) % 2**32 for word, step in zip(keys, STEPS, strict=True)]
    return counter
