"""How many threads compiled functions use."""

from __future__ import annotations

from kina.errors import KinaValueError
from kina.runtime.library import set_openmp_threads


def set_num_threads(count: int) -> None:
    """Let compiled functions called from this thread use up to `count` threads.

    Without a call, `OMP_NUM_THREADS` or else the number of cores decides. Raises
    `KinaValueError` for a count below 1.
    """
    if count < 1:
        raise KinaValueError(f"set_num_threads: the count is {count}, expected at least 1")
    set_openmp_threads(count)
