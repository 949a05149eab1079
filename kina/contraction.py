"""Contractions: products of two tensors summed over loops that both walk, as data.

A contraction is said by loops: the first ones are the axes of the result, in order; the others are
summed over. Each operand lists the loop that walks each of its axes. So `matmul`, its two
gradients and theirs are one operation, and no operand is ever transposed to fit.

A leaf, used by the type rules, the dialect and the gradients.
"""

from __future__ import annotations

from collections.abc import Sequence

from kina.frozen import frozen
from kina.types import Dim, format_dims

Loops = tuple[int, ...]
"""The loop that walks each axis of a tensor."""


@frozen(slots=True)
class Mismatch:
    """Why two shapes have no matrix product: what to blame, the words, and a way out."""

    blame: int
    message: str
    help: str | None = None


def matmul_mismatch(left: Sequence[Dim], right: Sequence[Dim]) -> Mismatch | None:
    """What is wrong with `[.., M, K] x [.., K, N]`; None if nothing is."""
    for position, (name, dims) in enumerate((("left", left), ("right", right))):
        if len(dims) < 2:
            return Mismatch(
                position,
                f"{name} has shape {format_dims(dims)}, expected rank 2 or more",
                _vector_help(position, dims),
            )
    if len(right) not in (2, len(left)):
        return Mismatch(
            1,
            f"{_shapes(left, right)}: expected right of rank 2, or of rank {len(left)} as left",
            f"write left.broadcast({format_dims((*right[:-2], *left[-2:]))})"
            if len(left) == 2
            else None,
        )
    leading = left[:-2] if len(right) > 2 else ()
    for axis, (mine, other) in enumerate(zip(leading, right[: len(leading)], strict=True)):
        if mine != other:
            return Mismatch(
                1,
                f"{_shapes(left, right)}: axis {axis} is {mine} and {other}, expected equal sizes",
            )
    return _inner_mismatch(left, right)


def _inner_mismatch(left: Sequence[Dim], right: Sequence[Dim]) -> Mismatch | None:
    if left[-1] == right[-2]:
        return None
    order = [*range(len(right) - 2), len(right) - 1, len(right) - 2]
    return Mismatch(
        1,
        f"{_shapes(left, right)}: axis {len(left) - 1} of left is {left[-1]} and axis "
        f"{len(right) - 2} of right is {right[-2]}, expected equal sizes",
        f"write right.transpose({order})" if left[-1] == right[-1] else None,
    )


def _shapes(left: Sequence[Dim], right: Sequence[Dim]) -> str:
    return f"left has shape {format_dims(left)} and right has shape {format_dims(right)}"


def _vector_help(position: int, dims: Sequence[Dim]) -> str | None:
    if not dims:
        return None
    as_matrix = (1, *dims) if position == 0 else (*dims, 1)
    return f"write .reshape({format_dims(as_matrix)})"


def matmul_loops(left_rank: int, right_rank: int) -> tuple[Loops, Loops]:
    """The loops of both operands of a matrix product: rows, columns, and one that is summed."""
    row, column, summed = left_rank - 2, left_rank - 1, left_rank
    batch = tuple(range(row))
    return (*batch, row, summed), (*(batch if right_rank > 2 else ()), summed, column)


@frozen(slots=True)
class Contraction:
    """The loops of a contraction whose result has so many axes."""

    rank: int
    left: Loops
    right: Loops

    @property
    def summed(self) -> Loops:
        """The loops that are summed over, the outermost first."""
        return tuple(range(self.rank, 1 + max((*self.left, *self.right), default=-1)))

    def gradient(self, position: int) -> Contraction:
        """The gradient of an operand: of the result's cotangent and the other operand.

        The result has the operand's axes. What it has not, the cotangent and the other operand
        share: these loops are summed over, in the order in which they stand here.
        """
        own, other = (self.left, self.right)[:: 1 if position == 0 else -1]
        result = range(self.rank)
        summed = [loop for loop in range(self.rank + len(self.summed)) if loop not in own]
        number = {loop: place for place, loop in enumerate((*own, *summed))}
        cotangent = tuple(number[loop] for loop in result)
        others = tuple(number[loop] for loop in other)
        operands = (cotangent, others) if position == 0 else (others, cotangent)
        return Contraction(len(own), *operands)


def problem(loops: Contraction, left: Sequence[Dim], right: Sequence[Dim]) -> str | None:
    """Why operands of these dimensions do not fit the loops; None if they do."""
    for name, walked, dims in (("left", loops.left, left), ("right", loops.right, right)):
        if len(walked) != len(dims):
            return f"{name} has rank {len(dims)} and {len(walked)} loops"
        if len(set(walked)) != len(walked) or any(loop < 0 for loop in walked):
            return f"the loops of {name} are {list(walked)}, expected each one once"
    for loop in loops.summed:
        if loop not in loops.left or loop not in loops.right:
            return f"loop {loop} is summed over, expected both operands to walk it"
    for loop in range(loops.rank):
        if loop not in loops.left and loop not in loops.right:
            return f"axis {loop} of the result is walked by no operand"
    sizes = dict(zip(loops.left, left, strict=True))
    for loop, size in zip(loops.right, right, strict=True):
        if sizes.setdefault(loop, size) != size:
            return f"loop {loop} is {sizes[loop]} in left and {size} in right"
    return None


def result_dims(loops: Contraction, left: Sequence[Dim], right: Sequence[Dim]) -> tuple[Dim, ...]:
    """The dimensions of the result, where there is no problem."""
    sizes = dict(zip((*loops.left, *loops.right), (*left, *right), strict=True))
    return tuple(sizes[loop] for loop in range(loops.rank))
