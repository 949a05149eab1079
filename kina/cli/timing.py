"""Timing of calls, and the figures of a measurement as a person reads them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from time import perf_counter

SAMPLE_SECONDS = 1e-3
"""A sample takes at least about this long, so that the cost of the clock vanishes."""


def calls_per_sample(call: Callable[[], object]) -> int:
    """How many calls in a row make a sample; calls it a few times."""
    call()
    inner = _fitting(sample(call, 1))
    # A short call alone looks slower than it is.
    return inner if inner == 1 else _fitting(sample(call, inner))


def _fitting(seconds: float) -> int:
    return max(1, round(SAMPLE_SECONDS / seconds))


def sample(call: Callable[[], object], inner: int) -> float:
    """Seconds per call, over `inner` calls in a row."""
    start = perf_counter()
    for _ in repeat(None, inner):
        call()
    return (perf_counter() - start) / inner


def duration(seconds: float) -> str:
    """Three digits and a unit: `1.35 ms`."""
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "µs")):
        if seconds * factor >= 1:
            return f"{three_digits(seconds * factor)} {unit}"
    return f"{three_digits(seconds * 1e9)} ns"


def size(count: int) -> str:
    """Bytes as `36.0 KB` or `1.20 GB`, in powers of 1000."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")):
        if abs(count) >= factor:
            return f"{three_digits(count / factor)} {unit}"
    return f"{count} bytes"


def three_digits(number: float) -> str:
    """`1.35`, `13.5` or `135`."""
    decimals = 2 if number < 10 else 1 if number < 100 else 0
    return f"{number:.{decimals}f}"
