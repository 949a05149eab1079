"""F32 sums in the order that is part of the language, in NumPy."""

from __future__ import annotations

import numpy as np

LANES = 64
CHUNK = 16384
BLOCK = 64


def ordered_sum(x: np.ndarray, axis: int) -> np.ndarray:
    """The sum of F32 along an axis, one rounding per addition, in the language's order."""
    return _last_axis(x) if axis == x.ndim - 1 else _other_axis(np.moveaxis(x, axis, 0))


def _last_axis(x: np.ndarray) -> np.ndarray:
    """Chunks of 16384, in order; within one, 64 lanes and then a halving tree."""
    total = np.zeros(x.shape[:-1], np.float32)
    for start in range(0, x.shape[-1], CHUNK):
        total = total + _chunk(x[..., start : start + CHUNK])
    return total


def _chunk(x: np.ndarray) -> np.ndarray:
    lanes = np.zeros((*x.shape[:-1], LANES), np.float32)
    for start in range(0, x.shape[-1], LANES):
        piece = x[..., start : start + LANES]
        lanes[..., : piece.shape[-1]] += piece
    width = LANES
    while width > 1:
        width //= 2
        lanes = lanes[..., :width] + lanes[..., width:]
    return lanes[..., 0]


def _other_axis(x: np.ndarray) -> np.ndarray:
    """Blocks of 64 consecutive elements, each in order, then the blocks in order."""
    total = np.zeros(x.shape[1:], np.float32)
    for start in range(0, x.shape[0], BLOCK):
        block = np.zeros(x.shape[1:], np.float32)
        for row in x[start : start + BLOCK]:
            block = block + row
        total = total + block
    return total
