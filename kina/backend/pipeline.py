"""The one list of passes from kina IR to LLVM IR, as data.

The names in `INLINE` … `SCHEDULE` run in this process, on xDSL; `mlir_passes` in one `mlir-opt`.
There are two ways through it: scheduled code (fused and vectorised), and plain loops in the form
of the specification. The order at the end of both is what makes the C ABI: `convert-func-to-llvm`
must meet the functions before any other pass that converts them does, or its bare-pointer option
is silently ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Pass:
    """A pass and its options."""

    name: str
    options: tuple[tuple[str, str], ...] = ()

    @property
    def argument(self) -> str:
        """The pass as a command-line argument of mlir-opt."""
        shown = " ".join(f"{key}={value}" for key, value in self.options)
        return f"--{self.name}={shown}" if shown else f"--{self.name}"


def _passes(*items: str | Pass) -> tuple[Pass, ...]:
    return tuple(Pass(item) if isinstance(item, str) else item for item in items)


INLINE = ("inline-calls", "transform-ad")
"""kina IR without reverse mode, calls only of large functions: what the reference evaluates."""

TO_LINALG = ("simplify-kina", "decompose-kina", "simplify-kina", "lower-kina")
"""kina IR without reverse mode to linalg on tensors: where `emit --to linalg` stops."""

TO_C = ("export-c", "check-sizes", "assert-to-status", "expand-math", "expand-small-floats")
"""linalg to functions with the C interface, in arithmetic that is exact on every target."""

PLAIN = ("lower-invoke",)
"""What C functions on linalg need where nothing schedules them."""

SCHEDULE = ("schedule-cpu",)
"""C functions to kernels, with a transform-dialect schedule for them."""

SCHEDULE_ATTRIBUTE = "kina.schedule"
"""Where schedule-cpu leaves it on the module."""

ENTRY_POINT = "kina_schedule"
"""The sequence of the schedule that mlir-opt runs."""

BUFFERIZE = _passes(
    "canonicalize",
    # Before cse: two results that start from one fill would both be built in one output.
    "eliminate-empty-tensors",
    "cse",
    Pass(
        "one-shot-bufferize",
        (
            ("bufferize-function-boundaries", "true"),
            ("function-boundary-type-conversion", "identity-layout-map"),
        ),
    ),
    "canonicalize",
    "buffer-hoisting",
    "buffer-loop-hoisting",
    Pass("promote-buffers-to-stack", (("max-alloc-size-in-bytes", "1024"),)),
    "ownership-based-buffer-deallocation",
    "canonicalize",
    "buffer-deallocation-simplification",
    "bufferization-lower-deallocations",
    "canonicalize",
    "cse",
)
"""Tensors to memory. Small temporaries live on the stack; the rest is checked by `frames`."""

_C_FUNCTIONS = Pass("convert-func-to-llvm", (("use-bare-ptr-memref-call-conv", "true"),))

TO_LLVM = _passes(
    "convert-linalg-to-loops",
    "fold-memref-alias-ops",
    "expand-strided-metadata",
    "lower-affine",
    "convert-scf-to-cf",
    "convert-math-to-llvm",
    "convert-math-to-libm",
    "canonicalize",
    "cse",
    "finalize-memref-to-llvm",
    "convert-cf-to-llvm",
    "convert-arith-to-llvm",
    "convert-index-to-llvm",
    _C_FUNCTIONS,
    "reconcile-unrealized-casts",
    "canonicalize",
    "cse",
)
"""Plain loops to the LLVM dialect, bare pointers at the functions' boundary."""

SCHEDULED_TO_LLVM = _passes(
    "canonicalize",
    "cse",
    "convert-linalg-to-loops",
    "scf-forall-to-for",
    "buffer-loop-hoisting",
    Pass(
        "promote-buffers-to-stack",
        (("max-alloc-size-in-bytes", "4096"), ("max-rank-of-allocated-memref", "0")),
    ),
    "fold-memref-alias-ops",
    "canonicalize",
    "convert-vector-to-scf",
    "expand-strided-metadata",
    "lower-affine",
    "convert-vector-to-llvm",
    "convert-ub-to-llvm",
    "convert-math-to-llvm",
    "convert-scf-to-cf",
    "convert-math-to-libm",
    "finalize-memref-to-llvm",
    "convert-cf-to-llvm",
    "convert-arith-to-llvm",
    "convert-index-to-llvm",
    _C_FUNCTIONS,
    "reconcile-unrealized-casts",
)
"""What a schedule leaves (kernels on memory, tiles as vectors) to the LLVM dialect."""


def mlir_passes(schedule: str | None) -> tuple[Pass, ...]:
    """What mlir-opt does: run the schedule in the file, or make plain loops where there is none."""
    if schedule is None:
        return BUFFERIZE + TO_LLVM
    entry = (("entry-point", ENTRY_POINT), ("disable-expensive-checks", "true"))
    return (
        Pass("transform-preload-library", (("transform-library-paths", schedule),)),
        Pass("transform-interpreter", entry),
        *SCHEDULED_TO_LLVM,
    )


def arguments(passes: Sequence[Pass]) -> list[str]:
    """The passes as mlir-opt takes them."""
    return ["--mlir-disable-threading", *(item.argument for item in passes)]


_OPTIMISE = (
    "internalize",
    "default<O3>",
    # Vectors of 64 elements go through memory a register at a time, the next rows on their way.
    "function(scalarizer<load-store;min-bits=512>,instcombine<no-verify-fixpoint>,loop-data-prefetch)",
)
_PREFETCH = (
    "-prefetch-distance=300",
    "-loop-prefetch-writes",
    "-cache-line-size=64",
    "-min-prefetch-stride=1",
)


def optimise_passes(public: Path) -> list[str]:
    """The arguments of `opt`: hide all but the functions that a file lists, then -O3.

    A file, because an argument has a bound on its length, and names of functions have none.
    """
    return [
        f"-passes={','.join(_OPTIMISE)}",
        *_PREFETCH,
        f"-internalize-public-api-file={public}",
    ]


CODEGEN = ("-O3", "-relocation-model=pic", "-fp-contract=off")
"""The arguments of `llc`: Kina decides what is fused, LLVM never contracts."""
