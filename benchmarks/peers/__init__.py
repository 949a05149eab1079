"""The peers: each module turns a workload into variants that the worker times.

A peer is skipped, and said to be missing, where one of its distributions is not installed. What a
peer has no operation for, it has no variant for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol, cast

from benchmarks.workloads import Array, Inputs, Workload

KINA, LIBRARY, LOOP, LIMIT = "Kina", "library", "hand-written loop", "limit"


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to compute a workload: the call that is timed, and its result as an array."""

    call: Callable[[], Any]
    to_array: Callable[[Any], Array]


class PeerModule(Protocol):
    """What each module of this package offers."""

    def set_up(self, threads: int) -> None:
        """Restrict the library to `threads` threads; called once, before anything else."""
        ...

    def variants(self, workload: Workload, inputs: Inputs, threads: int) -> dict[str, Variant]:
        """The variants by name; inputs are in the form that the library likes best."""
        ...


@dataclass(frozen=True, slots=True)
class Peer:
    """A peer: its module here, what must be importable, and the distributions that make it up."""

    module: str
    kind: str
    imports: tuple[str, ...]
    distributions: tuple[str, ...]

    @property
    def missing(self) -> str | None:
        """The first module that is not installed."""
        return next((name for name in self.imports if find_spec(name) is None), None)

    def load(self) -> PeerModule:
        """The module, which imports the library."""
        return cast(PeerModule, import_module(f"benchmarks.peers.{self.module}"))


PEERS: Mapping[str, Peer] = {
    "limit": Peer("memory_limit", LIMIT, ("numpy",), ()),
    "kina": Peer("with_kina", KINA, ("kina",), ()),
    "numpy": Peer("with_numpy", LIBRARY, ("numpy",), ("numpy",)),
    "torch": Peer("with_torch", LIBRARY, ("torch",), ("torch",)),
    "torch.compile": Peer("with_torch_compile", LIBRARY, ("torch",), ("torch",)),
    "jax": Peer("with_jax", LIBRARY, ("jax", "jaxlib"), ("jax", "jaxlib")),
    "onnxruntime": Peer("with_onnxruntime", LIBRARY, ("onnxruntime", "onnx"), ("onnxruntime",)),
    "numba": Peer("with_numba", LOOP, ("numba",), ("numba", "llvmlite")),
}
