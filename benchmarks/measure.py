"""Timing of one variant, as a worker does it."""

from __future__ import annotations

from collections.abc import Callable

from kina.cli.timing import SAMPLE_SECONDS, calls_per_sample, sample

FEWEST, MOST = 2, 12
"""How many samples one visit takes."""


def visit(call: Callable[[], object], budget: float) -> list[float]:
    """Samples, in seconds per call, that take about `budget` seconds together.

    The calls before them bring the data, and whatever threads there are, back.
    """
    inner = calls_per_sample(call)
    first = sample(call, inner)
    count = int(budget / max(first * inner, SAMPLE_SECONDS))
    return [first, *(sample(call, inner) for _ in range(min(max(count, FEWEST), MOST) - 1))]
