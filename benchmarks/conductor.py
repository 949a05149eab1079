"""Runs the workers so that all peers meet the same machine.

All peers of a workload are prepared, then visited in turn, several rounds: a disturbance hits all
of them alike, and only one process runs at a time.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import numpy as np

from benchmarks.peers import PEERS
from benchmarks.processes import WorkerDied, WorkerProcess
from benchmarks.results import Memory, Missing, Results, Timing
from benchmarks.workloads import Workload, make_inputs


@contextmanager
def inputs_folder() -> Generator[Path, None, None]:
    """A folder for the inputs, in memory where the system has such a place."""
    shared = Path("/dev/shm")
    place = shared if os.access(shared, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="kina-benchmarks-", dir=place) as folder:
        yield Path(folder)


def write_inputs(folder: Path, workload: Workload) -> None:
    """Write the inputs of a workload for all workers, once."""
    place = folder / workload.name
    if place.exists():
        return
    place.mkdir()
    for name, array in make_inputs(workload).items():
        plain = array if array.dtype.isbuiltin == 1 else array.view(np.uint16)
        np.save(place / f"{name}.npy", plain)


class Conductor:
    """Times workloads at one number of threads; use as a context manager, so that workers end."""

    def __init__(self, peers: Sequence[str], threads: int, folder: Path, results: Results) -> None:
        self._threads = threads
        self._folder = folder
        self._results = results
        self._workers = {peer: WorkerProcess(peer, threads, folder) for peer in peers}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers.values():
            worker.close()

    def run(self, workload: Workload, rounds: int, budget: float) -> None:
        """Time one workload: `rounds` visits of about `budget` seconds per variant."""
        write_inputs(self._folder, workload)
        errors = self._prepare(workload)
        seconds: dict[tuple[str, str], list[float]] = {key: [] for key in errors}
        for number in range(rounds):
            for peer, variant in _rotated(list(seconds), number):
                self._visit(workload, seconds, (peer, variant), budget)
        for (peer, variant), samples in seconds.items():
            error = errors[peer, variant]
            self._results.timings.append(
                Timing(workload.name, self._threads, peer, variant, samples, error)
            )

    def _prepare(self, workload: Workload) -> dict[tuple[str, str], float | None]:
        """Prepare every worker, all at once; the errors of the variants that there are."""
        for worker in self._workers.values():
            worker.send({"do": "prepare", "workload": workload.name})
        errors: dict[tuple[str, str], float | None] = {}
        for peer in list(self._workers):
            try:
                answer = self._workers[peer].receive()
            except WorkerDied as died:
                self._replace(workload, peer, str(died))
                continue
            if "reason" in answer:
                self._miss(workload, peer, answer["reason"])
            errors.update({(peer, name): e for name, e in answer.get("errors", {}).items()})
        return errors

    def _visit(
        self,
        workload: Workload,
        seconds: dict[tuple[str, str], list[float]],
        key: tuple[str, str],
        budget: float,
    ) -> None:
        peer, variant = key
        if key not in seconds:
            return
        try:
            request = {"do": "visit", "variant": variant, "budget": budget}
            seconds[key] += self._workers[peer].ask(request)["seconds"]
        except WorkerDied as died:
            self._replace(workload, peer, str(died))
            for lost in [k for k in seconds if k[0] == peer]:
                del seconds[lost]

    def _replace(self, workload: Workload, peer: str, reason: str) -> None:
        """Note that a peer failed on this workload, and start a new worker for the next."""
        self._miss(workload, peer, reason)
        self._workers[peer].close()
        self._workers[peer] = WorkerProcess(peer, self._threads, self._folder)

    def _miss(self, workload: Workload, peer: str, reason: str) -> None:
        self._results.missing.append(Missing(workload.name, self._threads, peer, reason))


def _rotated(keys: Sequence[tuple[str, str]], by: int) -> list[tuple[str, str]]:
    """The keys from another start each round, so that none always follows the same one."""
    start = by * 3 % len(keys) if keys else 0
    return [*keys[start:], *keys[:start]]


def measure_memory(
    workload: Workload, variants: Sequence[tuple[str, str]], threads: int, folder: Path
) -> list[Memory]:
    """The rise of each (peer, variant), each in a fresh process; untimed, so two at once."""
    write_inputs(folder, workload)

    def rise(variant: tuple[str, str]) -> Memory:
        worker = WorkerProcess(variant[0], threads, folder)
        try:
            request = {"do": "memory", "workload": workload.name, "variant": variant[1]}
            return Memory(workload.name, variant[1], worker.ask(request)["rise"])
        except WorkerDied:
            return Memory(workload.name, variant[1], None)
        finally:
            worker.close()

    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(rise, variants))


def installed(names: Sequence[str], results: Results) -> list[str]:
    """Those peers that are installed; the others are noted as missing."""
    present: list[str] = []
    for name in names:
        missing = PEERS[name].missing
        if missing is None:
            present.append(name)
        else:
            results.missing.append(Missing("", 0, name, f"{missing} is not installed"))
    return present
