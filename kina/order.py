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

    moved = np.moveaxis(np.asarray(x, np.float32), axis, 0)
    if axis == x.ndim - 1:
        parts = [_chunk(moved[i : i + CHUNK]) for i in range(0, len(moved), CHUNK)]
    else:
        parts = [_in_order(moved[i : i + BLOCK]) for i in range(0, len(moved), BLOCK)]
    return _in_order(np.stack(parts) if parts else moved)


def _chunk(elements: NDArray[np.float32]) -> NDArray[Any]:
    """The lanes of one chunk, then the halving tree."""
    import numpy as np

    lanes = np.zeros((LANES, *elements.shape[1:]), np.float32)
    for start in range(0, len(elements), LANES):
        row = elements[start : start + LANES]
        lanes[: len(row)] += row
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = lanes[:half] + lanes[half:]
    return lanes[0]


def _in_order(elements: NDArray[np.float32]) -> NDArray[Any]:
    """One element after the other, from +0.0."""
    import numpy as np

    total = np.zeros(elements.shape[1:], np.float32)
    for row in elements:
        total = total + row
    return total
