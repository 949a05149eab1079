"""PyTorch as it runs by default; inputs are tensors already."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.peers import Variant
from benchmarks.workloads import BEST, Array, Inputs, Workload

torch: Any = import_module("torch")
_functional: Any = import_module("torch.nn.functional")


def set_up(threads: int) -> None:
    """The threads of one operation."""
    torch.set_num_threads(threads)


def variants(workload: Workload, inputs: Inputs, threads: int) -> dict[str, Variant]:
    """What a user writes first, and where there is one, what is faster."""
    tensors = to_tensors(inputs)
    found = {
        f"torch{suffix}": Variant(partial(function, *tensors), to_array)
        for suffix, function in functions(workload).items()
    }
    if workload.op == "log_softmax":
        into = torch.zeros_like(tensors[0])
        call = partial(torch.log_softmax, tensors[0], workload.axis, out=into)
        found["torch out="] = Variant(call, to_array)
    if workload.op == "argmax":
        found["torch max"] = Variant(partial(torch.max, tensors[0], -1), _indices)
    return found


def to_tensors(inputs: Inputs) -> list[Any]:
    """Tensors over the same memory."""
    return [_to_tensor(array) for array in inputs.values()]


def _to_tensor(array: Array) -> Any:
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def to_array(result: Any) -> Array:
    """The result for the comparison with float64."""
    return (result.float() if result.is_floating_point() else result).numpy()


def _indices(result: Any) -> Array:
    return result.indices.numpy()


def functions(workload: Workload) -> Mapping[str, Any]:
    """The functions of an operation, by what to add to the peer's name."""
    return {
        "log_softmax": {"": partial(_log_softmax, workload.axis)},
        "nll": {"": _nll, " cross_entropy": _cross_entropy},
        "argmax": {"": _argmax},
        "sample": {"": _sample},
        "top_k": {"": _top_k},
        "dnll": {"": partial(gradient, mean_nll), " cross_entropy": partial(gradient, mean_ce)},
    }[workload.op]


def _log_softmax(axis: int, logits: Any) -> Any:
    return torch.log_softmax(logits, axis)


def _nll(logits: Any, targets: Any) -> Any:
    return -torch.log_softmax(logits, 2).gather(2, targets[..., None]).squeeze(2)


def _cross_entropy(logits: Any, targets: Any) -> Any:
    flat = logits.view(-1, logits.shape[-1])
    return _functional.cross_entropy(flat, targets.view(-1), reduction="none")


def _argmax(logits: Any) -> Any:
    return torch.argmax(logits, -1)


def _sample(logits: Any, u: Any, temperature: Any) -> Any:
    return torch.argmax(logits / temperature - torch.log(-torch.log(u)), -1)


def _top_k(logits: Any) -> Any:
    return torch.topk(logits, BEST, -1).indices


def mean_nll(logits: Any, targets: Any) -> Any:
    """The mean loss from log-probabilities."""
    return _nll(logits, targets).mean()


def mean_ce(logits: Any, targets: Any) -> Any:
    """The mean loss from PyTorch's own operation."""
    return _functional.cross_entropy(logits.view(-1, logits.shape[-1]), targets.view(-1))


def gradient(loss: Any, logits: Any, targets: Any, _ct: Any) -> Any:
    """The gradient of a mean loss: what the other peers get from `ct` = 1 / rows."""
    logits.requires_grad_(True)
    return torch.autograd.grad(loss(logits, targets), logits)[0]
