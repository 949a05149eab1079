"""This Kina and another one, side by side: calls alternate between two processes, one per tree.

    python -m benchmarks.against TREE [--threads 1,2] [--target native,…] [--rounds 10] [WORD …]

TREE is a checkout with an environment of its own in `.venv`, such as a git worktree of an earlier
version. Each row is a program of `benchmarks/programs`, of fixed and of symbolic sizes, or one of a
few short rows; a WORD keeps the rows that contain it. The ratio is the speed of this Kina over the
other's: the least times of all rounds, and the median of the rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan
from pathlib import Path
from statistics import geometric_mean, median
from time import perf_counter, process_time
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

_HERE = Path(__file__).parents[1]
_BATCH = 0.004
"""Seconds of a batch of calls: less than a system lets a process run on."""
_BATCHES = 3
_REFUSED = "nan"
_SHORT: Mapping[str, tuple[str, tuple[int, ...]]] = {
    "argmax of rows of 30": (
        "let f = fn(x: tensor<F32, [B, V]>) -> tensor<I64, [B]> { x.reduce(op=argmax, axis=1) }",
        (4096, 30),
    ),
    "argmax of 30 columns": (
        "let f = fn(x: tensor<F32, [4096, 30]>) -> tensor<I64, [4096]> "
        "{ x.reduce(op=argmax, axis=1) }",
        (4096, 30),
    ),
    "softmax of rows of 30": (
        "let f = fn(x: tensor<F32, [B, V]>) -> tensor<F32, [B, V]> { x.softmax(axis=1) }",
        (4096, 30),
    ),
}
Make = Callable[[], Sequence[NDArray[Any]]]


@dataclass(frozen=True, slots=True)
class Row:
    """A program and its inputs."""

    name: str
    program: Path
    make: Make


class _Kina:
    """One version in a process of its own, which is stopped but while it answers.

    Threads that wait for their next work by looking would take a CPU from the other version.
    """

    def __init__(self, tree: Path, threads: int) -> None:
        environment = {**os.environ, "PYTHONPATH": str(tree), "KINA_NUM_THREADS": str(threads)}
        environment["OMP_NUM_THREADS"] = str(threads)
        command = [tree / ".venv/bin/python", __file__, "--serve"]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            command, cwd=tree, env=environment, stdin=pipe, stdout=pipe, text=True
        )

    def ask(self, **request: object) -> float:
        """Its answer: seconds per call, NaN if it does not know the program's language."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.send_signal(signal.SIGCONT)
        print(json.dumps(request), file=self._process.stdin, flush=True)
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("the other process has ended: its message is above")
        self._process.send_signal(signal.SIGSTOP)
        return float(line)

    def end(self) -> None:
        """Ends when nothing is asked any more."""
        self._process.send_signal(signal.SIGCONT)
        self._process.communicate()


def serve() -> None:
    """Answer what `_Kina.ask` asks, with the Kina that Python finds here."""
    import ml_dtypes

    import kina

    call: Callable[[], object] = object
    count = 1
    # Of one thread what it computes is counted, whatever else the machine does.
    clock = process_time if os.environ["KINA_NUM_THREADS"] == "1" else perf_counter
    for line in sys.stdin:
        request = cast("dict[str, Any]", json.loads(line))
        if "program" in request:
            try:
                module = kina.load(request["program"], target=request["target"])
            except kina.KinaError:
                print(_REFUSED, flush=True)
                continue
            with np.load(request["inputs"]) as file:
                inputs = [file[f"arr_{number}"] for number in range(len(file))]
            kinds = [getattr(ml_dtypes, name, None) for name in request["dtypes"]]
            arrays = [a.view(k) if k else a for a, k in zip(inputs, kinds, strict=True)]
            *_, name = module  # what the others are for
            function = cast("Callable[..., object]", module[name])
            call = partial(function, *arrays, out=function(*arrays))
            start = perf_counter()
            call()
            count = max(1, int(_BATCH / (perf_counter() - start)))
        print(min(_timed(call, count, clock) for _ in range(_BATCHES)), flush=True)


def _timed(call: Callable[[], object], count: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(count):
        call()
    return (clock() - start) / count


def rows(folder: Path) -> Iterator[Row]:
    """All of them; those of short rows are written to `folder`."""
    from benchmarks.workloads import WORKLOADS, make_inputs

    for workload in WORKLOADS:
        for program, kind in ((workload.program, ""), (workload.symbolic_program, ", symbolic")):

            def make(workload: Any = workload) -> Sequence[NDArray[Any]]:
                return list(make_inputs(workload).values())

            if program.exists():
                yield Row(workload.title + kind, program, make)
    for number, (name, (text, shape)) in enumerate(_SHORT.items()):
        program = folder / f"short{number}.kina"
        program.write_text(text, encoding="utf-8")

        def short(shape: tuple[int, ...] = shape) -> Sequence[NDArray[Any]]:
            return [np.random.default_rng(7).standard_normal(shape, dtype=np.float32)]

        yield Row(name, program, short)


def compare(
    pair: Sequence[_Kina], row: Row, target: str, folder: Path, rounds: int
) -> float | None:
    """Print the row; the ratio of the least times, nothing if one cannot compile the program."""
    inputs = row.make()
    path = folder / "inputs.npz"
    np.savez(path, *inputs)
    dtypes = [array.dtype.name for array in inputs]
    request = {"program": str(row.program), "target": target, "inputs": str(path)}
    first = [kina.ask(**request, dtypes=dtypes) for kina in pair]
    if any(map(isnan, first)):
        print(f"| {row.name} | {target} | only one of them compiles it | | | |", flush=True)
        return None
    times: list[tuple[float, float]] = []
    for number in range(rounds):
        order = (0, 1) if number % 2 == 0 else (1, 0)
        taken = {which: pair[which].ask() for which in order}
        times.append((taken[0], taken[1]))
    this, other = (min(time[which] for time in times) for which in (0, 1))
    middle = median(time[1] / time[0] for time in times)
    shown = f"{other * 1e6:.1f} | {this * 1e6:.1f} | {other / this:.2f} | {middle:.2f}"
    print(f"| {row.name} | {target} | {shown} |", flush=True)
    return other / this


def main(arguments: Sequence[str]) -> None:
    """Print a table per number of threads."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--target", default="native")
    parser.add_argument("--rounds", type=int, default=10)
    given = parser.parse_args(arguments)
    for threads in map(int, given.threads.split(",")):
        print(f"\nthreads: {threads}\n\n| row | target | other µs | this µs | least | median |")
        print("|---|---|---|---|---|---|", flush=True)
        pair = [_Kina(tree.absolute(), threads) for tree in (_HERE, given.tree)]
        with tempfile.TemporaryDirectory() as name:
            ratios = [
                ratio
                for target in given.target.split(",")
                for row in rows(Path(name))
                if not given.words or any(word in row.name for word in given.words)
                if (ratio := compare(pair, row, target, Path(name), given.rounds)) is not None
            ]
        for kina in pair:
            kina.end()
        print(f"\ngeometric mean {geometric_mean(ratios):.3f}, lowest {min(ratios):.3f}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--serve"]:
        serve()
    else:
        main(sys.argv[1:])
