"""ONNX Runtime: one model per workload, from ndarrays to ndarrays; F32 only, no gradients."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from benchmarks.peers import Variant
from benchmarks.workloads import Array, Inputs, Workload

_runtime: Any = import_module("onnxruntime")
_helper: Any = import_module("onnx.helper")
_types: Any = import_module("onnx").TensorProto

# Per operation: (operator, inputs, output, attributes) in order; the last output is the result.
_Node = tuple[str, list[str], str, dict[str, Any]]
_NODES: Mapping[str, list[_Node]] = {
    "log_softmax": [("LogSoftmax", ["logits"], "y", {})],
    "nll": [
        ("LogSoftmax", ["logits"], "logp", {"axis": 2}),
        ("Unsqueeze", ["targets", "two"], "where", {}),
        ("GatherElements", ["logp", "where"], "picked", {"axis": 2}),
        ("Squeeze", ["picked", "two"], "flat", {}),
        ("Neg", ["flat"], "y", {}),
    ],
    "argmax": [("ArgMax", ["logits"], "y", {"axis": 2, "keepdims": 0})],
    "sample": [
        ("Log", ["u"], "log_u", {}),
        ("Neg", ["log_u"], "positive", {}),
        ("Log", ["positive"], "noise", {}),
        ("Div", ["logits", "temperature"], "scaled", {}),
        ("Sub", ["scaled", "noise"], "scores", {}),
        ("ArgMax", ["scores"], "y", {"axis": 2, "keepdims": 0}),
    ],
}


def set_up(threads: int) -> None:
    """Threads are a property of each session."""


def variants(workload: Workload, inputs: Inputs, threads: int) -> dict[str, Variant]:
    """`run` makes a fresh result; with bound outputs it writes into the caller's."""
    if workload.dtype != "F32" or workload.op not in _NODES:
        return {}
    session = _session(workload, inputs, threads)
    feed = dict(inputs)
    found = {"onnxruntime": Variant(partial(session.run, None, feed), _first)}
    if workload.bytes_written:
        found["onnxruntime out="] = _bound(session, workload, feed)
    return found


def _first(results: list[Array]) -> Array:
    return results[0]


def _bound(session: Any, workload: Workload, feed: Mapping[str, Array]) -> Variant:
    binding = session.io_binding()
    for name, array in feed.items():
        binding.bind_cpu_input(name, array)
    result = np.zeros(workload.shape, np.float32)
    binding.bind_ortvalue_output("y", _runtime.OrtValue.ortvalue_from_numpy(result))
    return Variant(
        partial(session.run_with_iobinding, binding), lambda _: binding.copy_outputs_to_cpu()[0]
    )


def _session(workload: Workload, inputs: Inputs, threads: int) -> Any:
    options = _runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    model = _model(workload, inputs)
    return _runtime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def _model(workload: Workload, inputs: Inputs) -> bytes:
    nodes = [
        _helper.make_node(operator, sources, [output], **_attributes(operator, workload, given))
        for operator, sources, output, given in _NODES[workload.op]
    ]
    element = {"f": _types.FLOAT, "i": _types.INT64}
    values = [
        _helper.make_tensor_value_info(name, element[array.dtype.kind], array.shape)
        for name, array in inputs.items()
    ]
    kind = "f" if workload.op in ("log_softmax", "nll") else "i"
    result = _helper.make_tensor_value_info("y", element[kind], None)
    two = [_helper.make_tensor("two", _types.INT64, [1], [2])] if workload.op == "nll" else []
    graph = _helper.make_graph(nodes, workload.op, values, [result], two)
    opsets = [_helper.make_opsetid("", 18)]
    return _helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()


def _attributes(operator: str, workload: Workload, given: dict[str, Any]) -> dict[str, Any]:
    return {"axis": workload.axis} if operator == "LogSoftmax" else given
