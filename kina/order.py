"""The order of sums: part of the language, as data and as a model that runs.

A float sum depends on the order of its additions, so the language fixes it (docs/language.md,
promise 3). Kernels are built to follow it, tests compare them with this model, and nothing that
only makes programs fast (`kina/machine.py`) may change it.

- Along the last axis: chunks of `CHUNK` elements; in a chunk `LANES` lanes, lane j takes the
  elements j, j + LANES, … in order; then the lanes join as a halving tree, j with j + LANES / 2,
  and so on; the chunks' sums are added in order.
- Along any other axis: blocks of `BLOCK` elements, each in order; the blocks' sums in order.

Every partial sum starts from +0.0, and each addition rounds once, to F32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

CHUNK = 16384
"""Elements of the last axis that are summed for themselves."""
LANES = 64
"""Partial sums that a chunk is dealt to."""
BLOCK = 64
"""Elements of any other axis that are summed for themselves."""


def chunk_of(*, interior: bool) -> int:
    """Elements that are summed for themselves along an interior axis or the last."""
    return BLOCK if interior else CHUNK


def ordered_sum(x: NDArray[np.float32], axis: int) -> NDArray[Any]:
    """The F32 sum of `x` along `axis` (0 <= axis < rank), in the language's order, to the bit.

    The shape of the result is that of `x` without `axis`.
    """
    import numpy as np

    return in_order(np.add, 0.0, x, axis)


def in_order(join: np.ufunc, start: float, x: NDArray[np.float32], axis: int) -> NDArray[Any]:
    """`x` joined along `axis` as sums are; every partial result starts from `start`."""
    import numpy as np

    last = axis == x.ndim - 1
    moved = np.moveaxis(np.asarray(x, np.float32), axis, 0)
    total = np.full(moved.shape[1:], start, np.float32)
    step = chunk_of(interior=not last)
    for first in range(0, len(moved), step):
        part = moved[first : first + step]
        total = join(total, _lanes(join, start, part) if last else _each(join, start, part))
    return total


def _lanes(join: np.ufunc, start: float, elements: NDArray[np.float32]) -> NDArray[Any]:
    """The lanes of one chunk, then the halving tree."""
    import numpy as np

    lanes = np.full((LANES, *elements.shape[1:]), start, np.float32)
    for first in range(0, len(elements), LANES):
        row = elements[first : first + LANES]
        lanes[: len(row)] = join(lanes[: len(row)], row)
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = join(lanes[:half], lanes[half:])
    return lanes[0]


def _each(join: np.ufunc, start: float, elements: NDArray[np.float32]) -> NDArray[Any]:
    """One element after the other."""
    import numpy as np

    total = np.full(elements.shape[1:], start, np.float32)
    for row in elements:
        total = join(total, row)
    return total
