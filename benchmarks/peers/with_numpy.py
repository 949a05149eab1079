"""NumPy: the formulas as one writes them; elementwise work runs on one thread whatever is set."""

from __future__ import annotations

from functools import partial

import numpy as np

from benchmarks.peers import Variant
from benchmarks.workloads import BEST, Array, Inputs, Workload


def set_up(threads: int) -> None:
    """OpenBLAS, the only part with threads, takes no part in these workloads."""


def variants(workload: Workload, inputs: Inputs, threads: int) -> dict[str, Variant]:
    """F32 only: NumPy computes F16 element by element and knows BF16 not at all."""
    if workload.dtype != "F32":
        return {}
    function = _FUNCTIONS[workload.op]
    call = partial(function, workload.axis, *inputs.values())
    return {"numpy": Variant(call, np.asarray)}


def _log_softmax(axis: int, logits: Array) -> Array:
    shifted = logits - logits.max(axis=axis, keepdims=True)
    shifted -= np.log(np.exp(shifted).sum(axis=axis, keepdims=True))
    return shifted


def _nll(axis: int, logits: Array, targets: Array) -> Array:
    picked = np.take_along_axis(_log_softmax(axis, logits), targets[..., None], axis)
    return -picked.squeeze(axis)


def _argmax(axis: int, logits: Array) -> Array:
    return logits.argmax(axis=axis)


def _sample(axis: int, logits: Array, u: Array, temperature: Array) -> Array:
    scores = logits / temperature
    scores -= np.log(-np.log(u))
    return scores.argmax(axis=axis)


def _top_k(axis: int, logits: Array) -> Array:
    found = np.argpartition(logits, -BEST, axis=axis)[..., -BEST:]
    order = np.argsort(-np.take_along_axis(logits, found, axis), axis=axis, kind="stable")
    return np.take_along_axis(found, order, axis)


def _dnll(axis: int, logits: Array, targets: Array, ct: Array) -> Array:
    gradient = np.exp(_log_softmax(axis, logits))
    where = targets[..., None]
    picked = np.take_along_axis(gradient, where, axis)
    np.put_along_axis(gradient, where, picked - np.float32(1), axis)
    gradient *= ct[..., None]
    return gradient


_FUNCTIONS = {
    "log_softmax": _log_softmax,
    "nll": _nll,
    "argmax": _argmax,
    "sample": _sample,
    "top_k": _top_k,
    "dnll": _dnll,
}
