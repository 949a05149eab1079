"""Worker processes as the conductor sees them.

A worker is stopped (SIGSTOP) except while it answers, because the threads of an OpenMP or ONNX
runtime wait for their next work by spinning.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

ROOT = Path(__file__).parents[1]
TIMEOUT = 300.0
"""Seconds after which a worker that does not answer is given up."""

# Settings of the user's shell that would slow NumPy down or change a peer's threads.
_UNSET = (
    "OPENBLAS_CORETYPE",
    "OPENBLAS_L2_SIZE",
    "XLA_FLAGS",
    "KMP_BLOCKTIME",
    "GOMP_CPU_AFFINITY",
)
_THREADS = (
    "KINA_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NPROC",
    "PJRT_NPROC",
)


class WorkerDied(Exception):
    """A worker that ended or hung; says why."""


class WorkerProcess:
    """The conductor's end of one worker; it is stopped except while it answers."""

    def __init__(self, peer: str, threads: int, folder: Path) -> None:
        with NamedTemporaryFile(dir=folder, prefix=peer, suffix=".log", delete=False) as log:
            self._log = Path(log.name)
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.worker", peer, str(threads), str(folder)],
                cwd=ROOT,
                env=environment(threads),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def send(self, request: Mapping[str, Any]) -> None:
        """Wake the worker with a request."""
        assert self._process.stdin is not None
        self._process.send_signal(signal.SIGCONT)
        # Of a worker that is gone, `receive` knows why.
        with suppress(BrokenPipeError):
            print(json.dumps(request), file=self._process.stdin, flush=True)

    def receive(self) -> dict[str, Any]:
        """The answer; the worker is stopped after it. Raises `WorkerDied`."""
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], TIMEOUT)
        if not ready:
            raise WorkerDied(f"no answer within {TIMEOUT:.0f} s")
        line = self._process.stdout.readline()
        if not line:
            raise WorkerDied(self._last_words())
        self._process.send_signal(signal.SIGSTOP)
        return json.loads(line)

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send and receive."""
        self.send(request)
        return self.receive()

    def close(self) -> None:
        """End the process, stopped or not."""
        self._process.kill()
        self._process.communicate()

    def _last_words(self) -> str:
        status = self._process.wait()
        lines = self._log.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"ended with status {status}"


def environment(threads: int) -> dict[str, str]:
    """The environment of a worker: `threads` threads in every library."""
    env = {name: value for name, value in os.environ.items() if name not in _UNSET}
    env.update(dict.fromkeys(_THREADS, str(threads)))
    env.update(JAX_PLATFORMS="cpu", TORCHINDUCTOR_COMPILE_THREADS="1")
    if threads == 1:
        env["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    return env
