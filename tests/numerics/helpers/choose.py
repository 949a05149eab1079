"""Where a generator's choices come from: hypothesis, which can shrink them, or a seeded stream."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

Item = TypeVar("Item")


class Chooser(Protocol):
    """Makes choices."""

    def integer(self, low: int, high: int) -> int:
        """An integer from `low` to `high`, both included."""
        ...

    def one(self, items: Sequence[Item]) -> Item:
        """One of the items."""
        ...

    def chance(self, percent: int) -> bool:
        """True in about `percent` of 100 cases."""
        ...


class _Base:
    def integer(self, low: int, high: int) -> int:
        raise NotImplementedError

    def one(self, items: Sequence[Item]) -> Item:
        return items[self.integer(0, len(items) - 1)]

    def chance(self, percent: int) -> bool:
        # 0 is what hypothesis shrinks to: the plain choice.
        return self.integer(0, 99) >= 100 - percent


class Seeded(_Base):
    """A reproducible stream of choices; fast, for large sweeps."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def integer(self, low: int, high: int) -> int:
        return self._random.randint(low, high)


class Drawn(_Base):
    """Choices of hypothesis."""

    def __init__(self, draw: DrawFn) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))
