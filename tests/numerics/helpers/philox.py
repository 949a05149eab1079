"""Philox 4x32-10 in Python's integers, written from the paper.

Salmon and others, "Parallel random numbers: as easy as 1, 2, 3", 2011.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

Words = tuple[int, ...]

KNOWN: tuple[tuple[Words, Words, Words], ...] = (
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
)
"""Counter, key and block: the known answers that come with Random123, the authors' library."""


def block(counter: Sequence[int], key: Sequence[int]) -> Words:
    """The block of a counter."""
    r0, l0, r1, l1 = counter
    k0, k1 = key
    for _ in range(10):
        high0, low0 = divmod(0xD2511F53 * r0, 1 << 32)
        high1, low1 = divmod(0xCD9E8D57 * r1, 1 << 32)
        r0, l0, r1, l1 = high1 ^ l0 ^ k0, low1, high0 ^ l1 ^ k1, low0
        k0, k1 = (k0 + 0x9E3779B9) % (1 << 32), (k1 + 0xBB67AE85) % (1 << 32)
    return r0, l0, r1, l1


def random_uniform(seed: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """What `random_uniform(shape, seed=seed)` has to be."""
    key, offset = (int(word) % (1 << 64) for word in seed)
    words: list[int] = []
    for number in range(-(-prod(shape) // 4)):
        counter = (offset + number) % (1 << 64)
        words += block((counter % (1 << 32), counter >> 32, 0, 0), (key % (1 << 32), key >> 32))
    middles = [(word // 512 + 0.5) / (1 << 23) for word in words[: prod(shape)]]
    return np.array(middles, np.float64).astype(np.float32).reshape(shape)
