"""How many threads compiled functions use."""

from __future__ import annotations

from typing import Any

from kina.errors import KinaTypeError, KinaValueError
from kina.runtime.library import set_threads

_MOST = 4096
"""More is a mistake."""


def set_num_threads(count: int | None) -> None:
    """Let every call of a compiled function use up to `count` threads; None is the default again.

    The default is what `KINA_NUM_THREADS` says, else `OMP_NUM_THREADS`, else the number of CPUs
    that the process may use: its affinity mask and its cgroup's quota count. Raises
    `KinaTypeError` for something else than an integer, `KinaValueError` for a count below 1 or
    above 4096.
    """
    set_threads(0 if count is None else checked_count("set_num_threads: the count", count))


def checked_count(what: str, count: Any) -> int:
    """A number of threads, in the range of C; `what` begins the message of an error."""
    if not hasattr(count, "__index__") or isinstance(count, bool):
        raise KinaTypeError(f"{what} is {count!r}, expected an integer")
    number = int(count.__index__())
    if number < 1:
        raise KinaValueError(f"{what} is {number}, expected at least 1")
    if number > _MOST:
        raise KinaValueError(f"{what} is {number}, expected at most {_MOST}")
    return number
