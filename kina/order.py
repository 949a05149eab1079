"""The order of sums: part of the language, as data and as a model that runs.

A float sum depends on the order of its additions, so the language fixes it (docs/language.md,
promise 3). Kernels are built to follow it, tests compare them with this model, and nothing that
only makes programs fast (`kina/machine.py`) may change it.

- Along the last axis: chunks of `CHUNK` elements; in a chunk `LANES` lanes, lane j takes the
  elements j, j + LANES, … in order; then the lanes join as a halving tree, j with j + LANES / 2,
  and so on; the chunks' sums are added in order.
- Along any other axis: blocks of `BLOCK` elements, each in order; the blocks' sums in order.

Every partial sum starts from +0.0, and each addition rounds once, to F32.

Products along an axis join like sums, every part from 1.0. A cumulative sum is one chain of
additions, from +0.0.

An element of a matrix product is one chain: from +0.0, `total = fma(a[k], b[k], total)` for each k
in order, where a fused multiply-add rounds once. Nothing cuts it, so rows, columns and batches may
be done in any pieces and any order.
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


def ordered_prod(x: NDArray[np.float32], axis: int) -> NDArray[Any]:
    """The F32 product of `x` along `axis`: in the order of sums, every part from 1.0."""
    import numpy as np

    return in_order(np.multiply, 1.0, x, axis)


def cumulative_sum(x: NDArray[np.float32], axis: int) -> NDArray[Any]:
    """The F32 sums of the first 1, 2, … elements along `axis`: one chain from +0.0, in order."""
    import numpy as np

    # NumPy's starts from the first element, which matters to a -0.0 alone.
    return np.add.accumulate(np.asarray(x, np.float32), axis) + np.float32(0.0)


def ordered_product(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[Any]:
    """The matrix product of `[.., M, K]` and `[.., K, N]`, in the language's order, to the bit."""
    import numpy as np

    shape = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    total = np.zeros((*shape, left.shape[-2], right.shape[-1]), np.float32)
    for k in range(left.shape[-1]):
        total = fused(left[..., :, k, None], right[..., None, k, :], total)
    return total


def fused(a: NDArray[Any], b: NDArray[Any], c: NDArray[Any]) -> NDArray[Any]:
    """`a * b + c` of F32, rounded once.

    The product is exact in float64. The sum is rounded to odd there, which makes the second
    rounding the only one that counts (Boldo and Melquiond, 2008).
    """
    import numpy as np

    with np.errstate(all="ignore"):
        product = a.astype(np.float64) * b.astype(np.float64)
        addend = c.astype(np.float64)
        total = product + addend
        part = total - product
        error = (product - (total - part)) + (addend - part)
        inexact = np.isfinite(total) & (error != 0)
        even = (np.ascontiguousarray(total).view(np.int64) & 1) == 0
        toward = np.where(error > 0, np.inf, -np.inf)
        odd = np.where(inexact & even, np.nextafter(total, toward), total)
        return odd.astype(np.float32)
