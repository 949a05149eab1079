"""Timing of one variant, as a worker does it."""

from __future__ import annotations

from collections.abc import Callable

from kina.cli.timing import SAMPLE_SECONDS, sample

FEWEST, MOST = 2, 12
"""How many samples one visit takes."""


def visit(call: Callable[[], object], inner: int, budget: float) -> list[float]:
    """Samples of `inner` calls each, in seconds per call, that take about `budget` seconds.

    The call before them brings the data, and whatever threads there are, back.
    """
    call()
    first = sample(call, inner)
    count = int(budget / max(first * inner, SAMPLE_SECONDS))
    return [first, *(sample(call, inner) for _ in range(min(max(count, FEWEST), MOST) - 1))]
