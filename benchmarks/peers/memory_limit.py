"""The memory limit: the necessary bytes, moved and not computed with.

Each variant moves what the workload must move, from and to arrays of its sizes, on its number of
threads. Kina takes no part in it; the fastest variant counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.peers import PEERS, Variant, with_numba
from benchmarks.workloads import MEMORY_BOUND_BYTES, Array, Inputs, Workload

_CHUNKS = 64


def set_up(threads: int) -> None:
    """As for the hand-written loops, where Numba is installed."""
    if PEERS["numba"].missing is None:
        with_numba.set_up(threads)


def variants(workload: Workload, inputs: Inputs, threads: int) -> dict[str, Variant]:
    """Reading (every array, one after the other) or copying, by NumPy and by a plain loop."""
    if workload.bytes_read < MEMORY_BOUND_BYTES:
        return {}
    words = [
        array.reshape(-1).view(np.int32)
        for array in inputs.values()
        if array.nbytes >= MEMORY_BOUND_BYTES
    ]
    writes = workload.bytes_written > 0
    calls = dict(_numpy_calls(words, writes, threads))
    if PEERS["numba"].missing is None:
        calls.update(_loop_calls(words, writes))
    return {name: Variant(call, np.asarray) for name, call in calls.items()}


def _numpy_calls(
    words: list[Array], writes: bool, threads: int
) -> Iterator[tuple[str, Callable[[], Any]]]:
    pool = ThreadPoolExecutor(threads)
    parts = [np.array_split(array, threads) for array in words]
    if writes:
        into = np.array_split(np.zeros_like(words[0]), threads)
        yield "copy np.copyto", partial(_on_threads, pool, np.copyto, into, parts[0])
    else:
        yield "read np.max", lambda: [_on_threads(pool, np.max, part) for part in parts]


def _on_threads(
    pool: ThreadPoolExecutor, function: Callable[..., Any], *parts: list[Array]
) -> None:
    """Without a pool for one thread: handing over would cost microseconds."""
    if len(parts[0]) == 1:
        function(*(part[0] for part in parts))
    else:
        for _ in pool.map(function, *parts):
            pass


def _loop_calls(words: list[Array], writes: bool) -> Iterator[tuple[str, Callable[[], Any]]]:
    loops: Any = import_module("benchmarks.peers.loops")
    chunked = [_chunked(array) for array in words]
    if writes:
        yield "copy loop", partial(loops.copy, chunked[0], np.zeros_like(chunked[0]))
    else:
        results = np.zeros(_CHUNKS, np.int32)
        yield "read loop", lambda: [loops.read(array, results) for array in chunked]


def _chunked(array: Array) -> Array:
    """A matrix of `_CHUNKS` rows; the few words that do not fill it are left out."""
    width = array.size // _CHUNKS
    return array[: _CHUNKS * width].reshape(_CHUNKS, width)
