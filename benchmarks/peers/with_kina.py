"""Kina: the program with fixed sizes, fresh and `out=`, and the one with symbols for sizes."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

import kina
from benchmarks.peers import Variant
from benchmarks.workloads import Array, Inputs, Workload


def set_up(threads: int) -> None:
    """Threads are set per library, once it is open."""


def variants(workload: Workload, inputs: Inputs, threads: int) -> dict[str, Variant]:
    """`out=` where the result is as large as the logits. Raises `KinaError`."""
    fixed = _function(workload.program, workload.op)
    symbolic = _function(workload.symbolic_program, workload.op)
    kina.set_num_threads(threads)
    arrays = tuple(inputs.values())
    found = {"kina": Variant(partial(fixed, *arrays), _last)}
    into: dict[str, Any] = {}
    if workload.bytes_written:
        into["out"] = _outputs(fixed(*arrays))
        found["kina out="] = Variant(partial(fixed, *arrays, **into), _last)
    found["kina symbolic"] = Variant(partial(symbolic, *arrays, **into), _last)
    return found


def _function(program: Path, op: str) -> kina.Function:
    return kina.load(program)[op]


def _outputs(result: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(np.zeros_like(array) for array in cast("tuple[Array, ...]", result))
    return np.zeros_like(result)


def _last(result: Any) -> Array:
    """Of (loss, gradient), the gradient."""
    return cast("tuple[Array, ...]", result)[-1] if isinstance(result, tuple) else result
