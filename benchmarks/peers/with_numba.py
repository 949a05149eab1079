"""The hand-written loops of `loops.py`, as fresh results and into the caller's array."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.peers import Variant
from benchmarks.workloads import Array, Inputs, Workload


def set_up(threads: int) -> None:
    """LLVM prefers 256-bit vectors on CPUs where 512-bit ones are faster for these loops."""
    binding: Any = import_module("llvmlite.binding")
    features: str = binding.get_host_cpu_features().flatten()
    os.environ["NUMBA_CPU_NAME"] = binding.get_host_cpu_name()
    os.environ["NUMBA_CPU_FEATURES"] = f"{features},-prefer-256-bit"


def variants(workload: Workload, inputs: Inputs, threads: int) -> dict[str, Variant]:
    """F32 only, no top_k. A call on one row compiles: memory is measured without the compiler."""
    if workload.dtype != "F32" or workload.op == "top_k":
        return {}
    loops: Any = import_module("benchmarks.peers.loops")
    loop, arguments, make = _prepared(loops, workload, inputs)
    loop(*(a[:1] if isinstance(a, np.ndarray) else a for a in arguments), make()[:1])
    found = {"numba": Variant(partial(_fresh, loop, arguments, make), np.asarray)}
    if workload.bytes_written:
        into = np.zeros_like(make())
        found["numba out="] = Variant(partial(_into, loop, arguments, into), np.asarray)
    return found


def _prepared(
    loops: Any, workload: Workload, inputs: Inputs
) -> tuple[Callable[..., None], tuple[Any, ...], Callable[[], Array]]:
    """The loop, its arguments and the maker of its result; rows are flat except along axis 1."""
    if workload.axis == 1:
        return (
            loops.log_softmax_axis1,
            (inputs["logits"],),
            partial(np.empty, workload.shape, np.float32),
        )
    rows = (workload.rows, workload.shape[-1])
    flat: dict[str, Any] = {
        name: array.reshape(rows if array.shape == workload.shape else -1)
        for name, array in inputs.items()
    }
    if "temperature" in flat:
        flat["temperature"] = np.float32(flat["temperature"][0])
    name = {"dnll": "gradient"}.get(workload.op, workload.op)
    shape = rows if workload.bytes_written else rows[:1]
    dtype = np.int64 if workload.op in ("argmax", "sample") else np.float32
    return getattr(loops, name), tuple(flat.values()), partial(np.empty, shape, dtype)


def _fresh(
    loop: Callable[..., None], arguments: tuple[Any, ...], make: Callable[[], Array]
) -> Array:
    return _into(loop, arguments, make())


def _into(loop: Callable[..., None], arguments: tuple[Any, ...], result: Array) -> Array:
    loop(*arguments, result)
    return result
