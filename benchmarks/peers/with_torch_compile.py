"""`torch.compile` with fixed sizes; it compiles at the first call."""

from __future__ import annotations

from functools import partial
from typing import Any

from benchmarks.peers import Variant, with_torch
from benchmarks.peers.with_torch import gradient, mean_ce, mean_nll, to_array, to_tensors
from benchmarks.workloads import Inputs, Workload

set_up = with_torch.set_up


def variants(workload: Workload, inputs: Inputs, threads: int) -> dict[str, Variant]:
    """The same functions as eager PyTorch, compiled."""
    tensors = to_tensors(inputs)
    with_torch.torch._dynamo.reset()
    return {
        f"torch.compile{suffix}": Variant(partial(function, *tensors), to_array)
        for suffix, function in _functions(workload).items()
    }


def _functions(workload: Workload) -> dict[str, Any]:
    if workload.op == "dnll":
        # The loss is compiled, forward and backward; the call into autograd is not.
        losses = {"": mean_nll, " cross_entropy": mean_ce}
        return {suffix: partial(gradient, _compile(loss)) for suffix, loss in losses.items()}
    return {suffix: _compile(f) for suffix, f in with_torch.functions(workload).items()}


def _compile(function: Any) -> Any:
    return with_torch.torch.compile(function, dynamic=False)
