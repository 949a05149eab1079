"""One peer at one number of threads, in a process of its own, run by `conductor`.

Requests and answers are lines of JSON. There is no catch-all for a peer's errors: a peer that
fails ends its worker, and the last line of its traceback is what the table says.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from benchmarks.measure import visit
from benchmarks.peers import LIMIT, PEERS, Variant
from benchmarks.workloads import BY_NAME, DTYPES, OPS, Inputs, Workload, error
from kina.cli.timing import calls_per_sample
from kina.errors import KinaError

_PR_SET_PDEATHSIG = 1


def main(peer: str, threads: int, folder: str) -> None:
    """Answer requests from standard input until it ends."""
    answers = _private_output()
    if sys.platform == "linux":
        # A stopped worker would not notice that its conductor is gone.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    worker = Worker(peer, threads, Path(folder))
    for line in sys.stdin:
        print(json.dumps(worker.answer(json.loads(line))), file=answers, flush=True)


def _private_output() -> TextIO:
    """Standard output for answers only: what libraries print goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


class Worker:
    """Holds the variants of one workload at a time."""

    def __init__(self, peer: str, threads: int, folder: Path) -> None:
        self._peer = PEERS[peer]
        self._threads = threads
        self._folder = folder
        self._module: Any = None
        self._variants: Mapping[str, Variant] = {}
        self._inner: dict[str, int] = {}

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Dispatch one request."""
        if request["do"] == "prepare":
            return self.prepare(BY_NAME[request["workload"]])
        if request["do"] == "memory":
            return self.memory(BY_NAME[request["workload"]], request["variant"])
        return {"seconds": self.visit(request["variant"], request["budget"])}

    def prepare(self, workload: Workload) -> dict[str, Any]:
        """Make the variants and call each once; per name, its error against float64."""
        self._variants = {}
        self._inner = {}
        gc.collect()
        inputs = load_inputs(self._folder, workload)
        try:
            self._variants = self._make(workload, inputs)
        except KinaError as problem:
            return {"reason": problem.diagnostics[0].message}
        return {"errors": {name: self._error(workload, inputs, name) for name in self._variants}}

    def visit(self, variant: str, budget: float) -> list[float]:
        """Samples of one variant; how many calls make one is decided at its first visit."""
        call = self._variants[variant].call
        if variant not in self._inner:
            self._inner[variant] = calls_per_sample(call)
        return visit(call, self._inner[variant], budget)

    def memory(self, workload: Workload, variant: str) -> dict[str, Any]:
        """By how many bytes memory rises over the inputs while the variant is called."""
        self._variants = self._make(workload, load_inputs(self._folder, workload))
        # 5 sets the peak back to what is in use now.
        Path("/proc/self/clear_refs").write_text("5")
        before = _status("VmRSS")
        for _ in range(3):
            self._variants[variant].call()
        return {"rise": _status("VmHWM") - before}

    def _make(self, workload: Workload, inputs: Inputs) -> dict[str, Variant]:
        if self._module is None:
            self._module = self._peer.load()
            self._module.set_up(self._threads)
        return self._module.variants(workload, inputs, self._threads)

    def _error(self, workload: Workload, inputs: Inputs, name: str) -> float | None:
        variant = self._variants[name]
        result = variant.call()
        if self._peer.kind == LIMIT:
            return None
        return error(workload, inputs, variant.to_array(result))


def load_inputs(folder: Path, workload: Workload) -> Inputs:
    """The inputs that the conductor wrote; `np.save` knows BF16 as raw bytes only."""
    dtype = DTYPES[workload.dtype]
    names = ("logits", *OPS[workload.op].extra)
    arrays = {name: np.load(folder / workload.name / f"{name}.npy") for name in names}
    return {**arrays, "logits": arrays["logits"].view(dtype)}


def _status(key: str) -> int:
    """A figure of this process in bytes, as Linux reports it."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(key))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
