"""The memory limit: how long it takes to move some bytes without computing anything with them."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from kina.arrays import Array

MEMORY_BOUND_BYTES = 1_000_000
"""Below this, it is the call and not memory that takes the time."""

_Part = tuple[Array, Array, Array, Array]


def mover(read: int, written: int, threads: int) -> Callable[[], None]:
    """A call that reads `read` bytes and writes `written` bytes on `threads` threads.

    By NumPy: what is both read and written is copied; the rest is read by `max`, or filled.
    """
    copied = min(read, written)
    arrays = (_words(copied), _words(copied), _words(read - copied), _words(written - copied))
    pieces = [np.array_split(array, threads) for array in arrays]
    parts: list[_Part] = list(zip(*pieces, strict=True))
    if threads == 1:
        return partial(_move, parts[0])
    return partial(_move_all, ThreadPoolExecutor(threads), parts)


def _words(count: int) -> Array:
    # Ones, because pages of zeros may be no memory at all.
    return np.ones(count // 4, np.int32)


def _move_all(pool: ThreadPoolExecutor, parts: list[_Part]) -> None:
    for _ in pool.map(_move, parts):
        pass


def _move(part: _Part) -> None:
    source, copy, only_read, only_written = part
    np.copyto(copy, source)
    np.max(only_read, initial=0)
    only_written.fill(0)
