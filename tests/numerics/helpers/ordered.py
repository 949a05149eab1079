"""F32 reductions in the order that is part of the language, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LANES = 64
CHUNK = 16384
BLOCK = 64


@dataclass(frozen=True)
class Ordered:
    """A reduction by `join`, one rounding per step; every partial result starts from `start`."""

    join: np.ufunc
    start: float

    def along(self, x: np.ndarray, axis: int) -> np.ndarray:
        """The reduction of F32 along an axis."""
        return self._last(x) if axis == x.ndim - 1 else self._other(np.moveaxis(x, axis, 0))

    def _last(self, x: np.ndarray) -> np.ndarray:
        """Chunks of 16384, in order; within one, 64 lanes and then a halving tree."""
        total = self._starts(x.shape[:-1])
        for start in range(0, x.shape[-1], CHUNK):
            total = self.join(total, self._chunk(x[..., start : start + CHUNK]))
        return total

    def _chunk(self, x: np.ndarray) -> np.ndarray:
        lanes = self._starts((*x.shape[:-1], LANES))
        for start in range(0, x.shape[-1], LANES):
            piece = x[..., start : start + LANES]
            width = piece.shape[-1]
            lanes[..., :width] = self.join(lanes[..., :width], piece)
        width = LANES
        while width > 1:
            width //= 2
            lanes = self.join(lanes[..., :width], lanes[..., width:])
        return lanes[..., 0]

    def _other(self, x: np.ndarray) -> np.ndarray:
        """Blocks of 64 consecutive elements, each in order, then the blocks in order."""
        total = self._starts(x.shape[1:])
        for start in range(0, x.shape[0], BLOCK):
            block = self._starts(x.shape[1:])
            for row in x[start : start + BLOCK]:
                block = self.join(block, row)
            total = self.join(total, block)
        return total

    def _starts(self, shape: tuple[int, ...]) -> np.ndarray:
        return np.full(shape, self.start, np.float32)


SUM = Ordered(np.add, 0.0)
PRODUCT = Ordered(np.multiply, 1.0)


def ordered_sum(x: np.ndarray, axis: int) -> np.ndarray:
    """The sum of F32 along an axis, in the language's order."""
    return SUM.along(x, axis)
