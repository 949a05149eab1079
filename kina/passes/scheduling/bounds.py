"""Conditions on places: a sum of coordinates, each times a factor, is not negative."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kina.frozen import frozen


@frozen
class Bound:
    """A condition on a place: a sum of its coordinates, each times a factor, is not negative."""

    factors: tuple[tuple[int, int], ...]
    """Which dimension, and its factor."""
    known: int = 0

    def plus(self, other: Bound, times: int) -> Bound:
        """The sum with another one, times a number."""
        factors = dict(self.factors)
        for dim, factor in other.factors:
            factors[dim] = factors.get(dim, 0) + times * factor
        kept = sorted((dim, factor) for dim, factor in factors.items() if factor)
        return Bound(tuple(kept), self.known + times * other.known)

    def along(self, dims: Mapping[int, int]) -> Bound | None:
        """The same by other numbers of the dimensions; None if one of them has none."""
        if any(dim not in dims for dim, _ in self.factors):
            return None
        return Bound(tuple(sorted((dims[dim], f) for dim, f in self.factors)), self.known)


Bounds = frozenset[Bound]
"""Conditions that all hold where an element is read."""
NOTHING = Bounds()
"""Nothing is known: an element may be read wherever it lies."""


def along(bounds: Iterable[Bound], dims: Mapping[int, int]) -> Bounds:
    """Those that can be said by other numbers of the dimensions."""
    moved = (bound.along(dims) for bound in bounds)
    return Bounds(bound for bound in moved if bound is not None)
