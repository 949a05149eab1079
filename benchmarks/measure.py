"""Timing of one call, and the protocol's record of it.

One sample is the mean of as many calls in a row as take a millisecond, so that the clock's own
cost vanishes; results are medians of samples.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from time import perf_counter

SAMPLE_SECONDS = 1e-3
FEWEST, MOST = 2, 12
"""How many samples one visit takes."""


def visit(call: Callable[[], object], budget: float) -> list[float]:
    """Samples, in seconds per call, that take about `budget` seconds together.

    The first call is not timed: it brings the data, and whatever threads there are, back.
    """
    call()
    estimate = _sample(call, 1)
    inner = max(1, round(SAMPLE_SECONDS / estimate))
    if inner > 1:
        inner = max(1, round(SAMPLE_SECONDS / _sample(call, inner)))
    count = int(budget / max(estimate, SAMPLE_SECONDS))
    return [_sample(call, inner) for _ in range(min(max(count, FEWEST), MOST))]


def _sample(call: Callable[[], object], inner: int) -> float:
    start = perf_counter()
    for _ in repeat(None, inner):
        call()
    return (perf_counter() - start) / inner
