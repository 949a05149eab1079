"""`kina bench`: a function against its NumPy reference and against the speed of memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from kina.arrays import Array
from kina.backend.options import Options
from kina.cli.inputs import Inputs
from kina.cli.memory_limit import MEMORY_BOUND_BYTES, mover
from kina.cli.programs import read_program
from kina.cli.progress import compiling
from kina.cli.run import as_tuple, choose
from kina.cli.timing import calls_per_sample, duration, sample, size, three_digits
from kina.cli.warning import WarningMode, show
from kina.errors import KinaValueError
from kina.runtime.library import set_threads
from kina.runtime.loading import load_source
from kina.runtime.module import Function
from kina.runtime.threads import checked_count

_REFERENCE_REPEAT = 3
"""The reference is slow, and nobody needs its third digit."""

_KINA, _INTO, _LIMIT, _REFERENCE = "Kina", "Kina, out=", "memory limit", "NumPy reference"

_BELOW = 0.9
"""A ratio to the limit that is below it by more than the noise."""


def bench_function(
    file: Path,
    name: str | None,
    given: Sequence[str],
    sizes: Sequence[str],
    threads: int | None,
    repeat: int,
) -> None:
    """Time one function of `file` and print where it stands.

    Raises `KinaValueError` for a `repeat` or `threads` below 1, and what `kina run` raises.
    """
    if repeat < 1:
        raise KinaValueError(f"--repeat {repeat}: expected at least 1")
    warn = partial(show, mode=WarningMode.SHOW)
    with compiling(file) as activity:
        module = load_source(read_program(file), Options(), warn=warn, activity=activity)
    function = choose(module, name)
    count = set_threads(0 if threads is None else checked_count("--threads: the count", threads))
    inputs = Inputs(function, given, sizes)
    _Bench(function, inputs, count, repeat).run()


class _Bench:
    """One function on its inputs; the contenders take turns, so that noise hits all of them."""

    def __init__(self, function: Function, inputs: Inputs, threads: int, repeat: int) -> None:
        self._function = function
        self._inputs = inputs
        self._threads = threads
        self._repeat = repeat
        self._results = as_tuple(function.flat(*inputs.arguments))
        self._read = sum(array.nbytes for array in inputs.arrays)
        self._written = sum(array.nbytes for array in self._results)

    def run(self) -> None:
        """Measure, and print the table and what it says in words."""
        self._print_head()
        medians = self._medians()
        limit = min((t for n, t in medians.items() if n.startswith(_LIMIT)), default=None)
        shown = {n: t for n, t in medians.items() if not n.startswith(_LIMIT)}
        if limit is not None:
            shown[_LIMIT] = limit
        for name, seconds in sorted(shown.items(), key=lambda item: item[1]):
            print(f"  {name:16}  {duration(seconds):>8}{self._rate(name, seconds, limit)}")
        self._print_words(shown, limit)

    def _print_head(self) -> None:
        print(self._function.type)
        parameters = self._function.type.parameters
        for parameter, described in zip(parameters, self._inputs.described, strict=True):
            print(f"  {parameter.name}: {described}")
        plural = "" if self._threads == 1 else "s"
        print(
            f"{size(self._read)} in, {size(self._written)} out; {self._threads} thread{plural}; "
            f"medians of {self._repeat}\n"
        )

    def _contenders(self) -> dict[str, Callable[[], object]]:
        arguments = self._inputs.arguments
        found: dict[str, Callable[[], object]] = {_KINA: partial(self._function.flat, *arguments)}
        if self._written >= MEMORY_BOUND_BYTES:
            into = tuple(np.zeros_like(array) for array in self._results)
            out: Any = into[0] if len(into) == 1 else into
            found[_INTO] = partial(self._function.flat, *arguments, out=out)
        if self._memory_bound:
            # Handing work to threads takes longer than it saves for arrays of a few megabytes.
            for threads in sorted({1, self._threads}):
                found[f"{_LIMIT} {threads}"] = mover(self._read, self._written, threads)
        found[_REFERENCE] = partial(self._function.flat_reference, *arguments)
        return found

    @property
    def _memory_bound(self) -> bool:
        return self._read + self._written >= MEMORY_BOUND_BYTES

    def _medians(self) -> dict[str, float]:
        contenders = self._contenders()
        inner = {name: calls_per_sample(call) for name, call in contenders.items()}
        samples: dict[str, list[float]] = {name: [] for name in contenders}
        for number in range(self._repeat):
            for name, call in contenders.items():
                if name != _REFERENCE:
                    # Not timed: brings back the data that the others pushed out of the cache.
                    call()
                elif number >= _REFERENCE_REPEAT:
                    continue
                samples[name].append(sample(call, inner[name]))
        return {name: median(values) for name, values in samples.items()}

    def _rate(self, name: str, seconds: float, limit: float | None) -> str:
        if limit is None or name == _REFERENCE:
            return ""
        rate = f"  {(self._read + self._written) / seconds / 1e9:6.1f} GB/s"
        return rate if name == _LIMIT else f"{rate}  {three_digits(seconds / limit)} x limit"

    def _print_words(self, shown: dict[str, float], limit: float | None) -> None:
        best = min(shown.get(_INTO, shown[_KINA]), shown[_KINA])
        speed = three_digits(shown[_REFERENCE] / best)
        print(f"\nKina is {speed} times as fast as the NumPy reference.")
        total = size(self._read + self._written)
        if limit is None:
            print(f"With {total} in all, the call takes the time, not memory.")
        elif best < _BELOW * limit:
            print(f"It beats the memory limit: it need not touch all of the {total}.")
        else:
            print(
                f"Moving the {total} alone takes {three_digits(100 * limit / best)} % of its time."
            )
        print(f"Largest difference from the reference: {self._difference():.2g}")

    def _difference(self) -> float:
        """The largest absolute difference of any result; equal infinities and NaN do not count."""
        expected = self._function.flat_reference(*self._inputs.arguments)
        return max(map(_largest, self._results, expected))


def _largest(got: Array, wanted: Array) -> float:
    left, right = got.astype(np.float64), wanted.astype(np.float64)
    same = (left == right) | (np.isnan(left) & np.isnan(right))
    differences: Array = np.abs(np.where(same, 0, left) - np.where(same, 0, right))
    return float(differences.max(initial=0))
