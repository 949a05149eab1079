"""The workloads: shapes, inputs, what must move through memory, and the float64 reference.

Inputs are seeded and finite. A workload's name is the name of its program in `programs/`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Inputs = Mapping[str, Array]

PROGRAMS = Path(__file__).parent / "programs"
TEMPERATURE = 0.8
BEST = 50
"""How many of each row `top_k` finds."""
SEED = 7
MEMORY_BOUND_BYTES = 1_000_000
"""Below this, it is the call and not memory that takes the time."""

CHECKED_ROWS = 32
"""Rows, spread over the whole result, that are compared with float64."""

DTYPES: Mapping[str, np.dtype[Any]] = {
    "F32": np.dtype(np.float32),
    "F16": np.dtype(np.float16),
    "BF16": np.dtype(ml_dtypes.bfloat16),
}


@dataclass(frozen=True, slots=True)
class Workload:
    """One operation at one shape; `axis` is the one that it reduces or normalizes."""

    op: str
    shape: tuple[int, ...]
    dtype: str = "F32"
    axis: int = 2

    @property
    def name(self) -> str:
        """The name of its program, and of its row on the command line."""
        return "_".join([self._stem, "x".join(map(str, self.shape)), *self._suffix])

    @property
    def title(self) -> str:
        """The name as a person reads it."""
        along = "" if self.axis == 2 else f" along axis {self.axis}"
        return f"{OPS[self.op].title}{along} {list(self.shape)} {self.dtype}"

    @property
    def program(self) -> Path:
        """The Kina program with these sizes."""
        return PROGRAMS / f"{self.name}.kina"

    @property
    def symbolic_program(self) -> Path:
        """The Kina program with symbols for sizes."""
        return PROGRAMS / "symbolic" / f"{self._stem}_{self.dtype.lower()}.kina"

    @property
    def rows(self) -> int:
        """How many rows are reduced or normalized."""
        return prod(self.shape) // self.shape[self.axis]

    @property
    def bytes_read(self) -> int:
        """Bytes of logits (and noise) that any implementation must read."""
        return prod(self.shape) * DTYPES[self.dtype].itemsize * OPS[self.op].arrays_read

    @property
    def bytes_written(self) -> int:
        """Bytes of the logits' size that any implementation must write."""
        size = prod(self.shape) * DTYPES[self.dtype].itemsize
        return size if OPS[self.op].writes_array else 0

    @property
    def _stem(self) -> str:
        return self.op if self.axis == 2 else f"{self.op}_axis{self.axis}"

    @property
    def _suffix(self) -> list[str]:
        return [] if self.dtype == "F32" else [self.dtype.lower()]


@dataclass(frozen=True, slots=True)
class Op:
    """An operation: its further inputs, its meaning on float64 rows, and what it must move."""

    title: str
    extra: tuple[str, ...]
    rows: Callable[..., Array]
    arrays_read: int = 1
    writes_array: bool = False


def _log_softmax(x: Array) -> Array:
    shifted = x - x.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def _nll(x: Array, targets: Array) -> Array:
    return -np.take_along_axis(_log_softmax(x), targets, 1)


def _argmax(x: Array) -> Array:
    return x.argmax(axis=1)


def _sample(x: Array, u: Array, temperature: Array) -> Array:
    return (x / temperature - np.log(-np.log(u))).argmax(axis=1)


def _top_k(x: Array) -> Array:
    return np.argsort(-x, axis=1, kind="stable")[:, :BEST]


def _gradient(x: Array, targets: Array, ct: Array) -> Array:
    gradient = np.exp(_log_softmax(x))
    gradient[np.arange(len(x)), targets[:, 0]] -= 1
    return gradient * ct


OPS: Mapping[str, Op] = {
    "log_softmax": Op("log_softmax", (), _log_softmax, writes_array=True),
    "nll": Op("NLL", ("targets",), _nll),
    "argmax": Op("argmax", (), _argmax),
    "sample": Op("sample", ("u", "temperature"), _sample, arrays_read=2),
    "top_k": Op(f"top {BEST} of", (), _top_k),
    "dnll": Op("gradient of NLL", ("targets", "ct"), _gradient, writes_array=True),
}

VOCABULARY = 50257
LARGE_VOCABULARY = 151936
TINY = (1, 4, 8)

WORKLOADS: tuple[Workload, ...] = (
    Workload("log_softmax", (1, 1024, VOCABULARY)),
    Workload("log_softmax", (8, 128, 512)),
    Workload("log_softmax", (8, 4096, 128), axis=1),
    Workload("nll", (1, 1024, VOCABULARY)),
    Workload("nll", (8, 128, 512)),
    Workload("argmax", (1, 1024, VOCABULARY)),
    Workload("argmax", (1, 256, VOCABULARY), "BF16"),
    Workload("argmax", (1, 256, VOCABULARY), "F16"),
    Workload("sample", (1, 256, VOCABULARY)),
    Workload("top_k", (1, 128, LARGE_VOCABULARY)),
    Workload("log_softmax", (1, 256, VOCABULARY), "BF16"),
    Workload("log_softmax", (1, 256, VOCABULARY), "F16"),
    Workload("dnll", (1, 256, VOCABULARY)),
    Workload("nll", TINY),
    Workload("log_softmax", TINY),
    Workload("argmax", TINY),
)
BY_NAME: Mapping[str, Workload] = {workload.name: workload for workload in WORKLOADS}
MEMORY_WORKLOADS = tuple(w for w in WORKLOADS if w.op in ("nll", "dnll") and w.bytes_read > 5e7)
"""Those whose peak memory is measured too."""


def make_inputs(workload: Workload) -> dict[str, Array]:
    """The inputs by name, in the order of the program's parameters.

    Logits are normal with deviation 2, `u` is uniform inside (0, 1), `ct` is 1 / rows: the
    gradient of the mean loss.
    """
    random = np.random.default_rng(SEED)
    logits = random.standard_normal(workload.shape, dtype=np.float32) * np.float32(2)
    positions = workload.shape[:-1]
    makers: Mapping[str, Callable[[], Array]] = {
        "targets": lambda: random.integers(0, workload.shape[-1], positions),
        "u": lambda: random.random(workload.shape, np.float32).clip(1e-7, 1 - 1e-7),
        "temperature": lambda: np.full((1, 1), TEMPERATURE, np.float32),
        "ct": lambda: np.full(positions, 1 / workload.rows, np.float32),
    }
    extra = {name: makers[name]() for name in OPS[workload.op].extra}
    return {"logits": logits.astype(DTYPES[workload.dtype]), **extra}


def error(workload: Workload, inputs: Inputs, result: Array) -> float:
    """The largest absolute difference from float64, or for indices the share that differs."""
    picked = np.linspace(0, workload.rows - 1, min(CHECKED_ROWS, workload.rows)).astype(int)
    arguments = [_rows(workload, array)[picked] for array in inputs.values()]
    expected = OPS[workload.op].rows(*(_wide(array) for array in arguments))
    got = _wide(_rows(workload, result)[picked]).reshape(expected.shape)
    differences: Array = got != expected if got.dtype.kind == "i" else np.abs(got - expected)
    return float(differences.mean() if got.dtype.kind == "i" else differences.max())


def _rows(workload: Workload, array: Array) -> Array:
    """The array as rows along the axis; what has few values per row becomes rows of those."""
    if array.size == prod(workload.shape):
        moved = np.moveaxis(array.reshape(workload.shape), workload.axis, -1)
        return moved.reshape(-1, workload.shape[workload.axis])
    if array.size > workload.rows:
        return array.reshape(workload.rows, -1)
    return np.broadcast_to(array.reshape(-1, 1), (workload.rows, 1))


def _wide(array: Array) -> Array:
    return array if array.dtype.kind == "i" else array.astype(np.float64)
