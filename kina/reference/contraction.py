"""Matrix products and contractions on NumPy arrays: floats in float64, integers as they wrap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from kina.arrays import Array
from kina.contraction import Contraction
from kina.dtypes import DType


def product(left: Array, right: Array, dtype: DType) -> Array:
    """`left @ right`, of F32 or I64; the operands are as `widen` gives them."""
    wide = np.float64 if dtype.is_float else np.int64
    result = np.matmul(left.astype(wide), right.astype(wide))
    return result.astype(np.float32) if dtype.is_float else result


Product = Callable[[Array, Array, DType], Array]
"""A matrix product of stacks, as `product` is."""


def contract(
    left: Array, right: Array, loops: Contraction, dtype: DType, multiply: Product = product
) -> Array:
    """The contraction as one stack of matrix products: rows of the left, columns of the right."""
    shared = [loop for loop in loops.left if loop in loops.right]
    stack = [loop for loop in shared if loop < loops.rank]
    rows = [loop for loop in loops.left if loop not in loops.right]
    columns = [loop for loop in loops.right if loop not in loops.left]
    sizes = dict(zip((*loops.left, *loops.right), (*left.shape, *right.shape), strict=True))

    def as_stack(array: Array, walked: Sequence[int], *groups: Sequence[int]) -> Array:
        moved = np.transpose(array, [walked.index(loop) for group in groups for loop in group])
        return moved.reshape([prod(sizes[loop] for loop in group) for group in groups])

    made = multiply(
        as_stack(left, loops.left, stack, rows, loops.summed),
        as_stack(right, loops.right, stack, loops.summed, columns),
        dtype,
    )
    order = [*stack, *rows, *columns]
    spread = made.reshape([sizes[loop] for loop in order])
    return np.transpose(spread, [order.index(loop) for loop in range(loops.rank)])
