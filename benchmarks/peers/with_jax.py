"""JAX: `jit` on arrays that are placed already; each call waits for its result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.peers import Variant
from benchmarks.workloads import BEST, Inputs, Workload

_jax: Any = import_module("jax")
_jnp: Any = import_module("jax.numpy")


def set_up(threads: int) -> None:
    """The environment has set the threads: XLA reads it when it is loaded."""


def variants(workload: Workload, inputs: Inputs, threads: int) -> dict[str, Variant]:
    """The plain form, and for NLL the one that compares instead of gathering."""
    arrays = [_jax.device_put(array) for array in inputs.values()]
    return {
        f"jax{suffix}": Variant(partial(_ready, _jax.jit(function), arrays), np.asarray)
        for suffix, function in _functions(workload).items()
    }


def _ready(function: Any, arrays: list[Any]) -> Any:
    return function(*arrays).block_until_ready()


def _functions(workload: Workload) -> Mapping[str, Callable[..., Any]]:
    return {
        "log_softmax": {"": partial(_log_softmax, workload.axis)},
        "nll": {"": partial(_nll, _gathered), " one-hot": partial(_nll, _compared)},
        "argmax": {"": _argmax},
        "sample": {"": _sample},
        "top_k": {"": _top_k},
        "dnll": {"": partial(_dnll, _gathered), " one-hot": partial(_dnll, _compared)},
    }[workload.op]


def _log_softmax(axis: int, logits: Any) -> Any:
    return _jax.nn.log_softmax(logits, axis)


def _gathered(values: Any, targets: Any) -> Any:
    return _jnp.take_along_axis(values, targets[..., None], 2).squeeze(2)


def _compared(values: Any, targets: Any) -> Any:
    classes = _jnp.arange(values.shape[-1], dtype=targets.dtype)
    return _jnp.where(classes == targets[..., None], values, 0).sum(-1)


def _nll(pick: Any, logits: Any, targets: Any) -> Any:
    return -pick(_jax.nn.log_softmax(logits, 2), targets)


def _argmax(logits: Any) -> Any:
    return _jnp.argmax(logits, -1)


def _sample(logits: Any, u: Any, temperature: Any) -> Any:
    return _jnp.argmax(logits / temperature - _jnp.log(-_jnp.log(u)), -1)


def _top_k(logits: Any) -> Any:
    return _jax.lax.top_k(logits, BEST)[1]


def _dnll(pick: Any, logits: Any, targets: Any, ct: Any) -> Any:
    _, backward = _jax.vjp(partial(_nll, pick, targets=targets), logits)
    return backward(ct)[0]
