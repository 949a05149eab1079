"""The one list of passes from kina IR to LLVM IR, as data.

The names in `INLINE` … `SCHEDULE` run in this process, on xDSL; `mlir_passes` in one `mlir-opt`.
There are two ways through it: scheduled code (fused and vectorised), and plain loops in the form
of the specification. The order at the end of both is what makes the C ABI: `convert-func-to-llvm`
must meet the functions before any other pass that converts them does, or its bare-pointer option
is silently ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kina.frozen import frozen
from kina.machine import Machine


@frozen(slots=True)
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


INLINE = ("specialise-sizes", "inline-calls", "transform-ad")
"""kina IR without reverse mode, calls only of large functions: what the reference evaluates."""

TO_LINALG = ("simplify-kina", "decompose-kina", "simplify-kina", "lower-kina")
"""kina IR without reverse mode to linalg on tensors: where `emit --to linalg` stops."""

TO_C = ("export-c", "check-sizes", "assert-to-status", "expand-math")
"""linalg to functions with the C interface, in arithmetic that is exact on every machine."""

FOR_ALL = TO_LINALG + TO_C
"""kina IR without calls to C functions, which are the same for all machines."""

SMALL_FLOATS = ("expand-small-floats",)
"""16- and 8-bit floats to integers, and how they are converted where a machine does not."""

SCHEDULE = ("schedule-cpu",)
"""C functions to kernels: loops over vectors, on memory."""

PLAIN = ("allocate-temporaries",)
"""C functions to what bufferizes in place: loops in the form of the specification."""

EMULATE = ("expand-fma",)
"""For machines without a fused multiply-add."""

SPLIT = ("split-masks",)
"""For machines whose masks are short."""

TO_LLVM = _passes(
    Pass(
        "one-shot-bufferize",
        (
            ("bufferize-function-boundaries", "true"),
            ("function-boundary-type-conversion", "identity-layout-map"),
        ),
    ),
    "cse",  # a window that was filled in place is put back by a copy of it to itself
    "convert-linalg-to-loops",
    "fold-memref-alias-ops",
    "canonicalize",
    "expand-strided-metadata",
    "lower-affine",
    "convert-vector-to-llvm",
    "convert-math-to-llvm",
    "convert-scf-to-cf",
    "finalize-memref-to-llvm",
    "convert-cf-to-llvm",
    "convert-arith-to-llvm",
    "convert-index-to-llvm",
    Pass("convert-func-to-llvm", (("use-bare-ptr-memref-call-conv", "true"),)),
    "reconcile-unrealized-casts",
    "canonicalize",
    "cse",
)
"""Kernels, and what stayed linalg on tensors, to the LLVM dialect."""


def to_code(*, fast: bool, machine: Machine) -> tuple[str, ...]:
    """From kina IR without calls to what mlir-opt takes."""
    return FOR_ALL + for_machine(fast=fast, machine=machine)


def for_machine(*, fast: bool, machine: Machine) -> tuple[str, ...]:
    """From C functions to what mlir-opt takes."""
    loops = SCHEDULE if fast else PLAIN
    emulated = () if machine.has_fma else EMULATE
    split = SPLIT if machine.short_masks else ()
    return SMALL_FLOATS + loops + emulated + split


def arguments(passes: Sequence[Pass]) -> list[str]:
    """The passes as mlir-opt takes them."""
    return ["--mlir-disable-threading", *(item.argument for item in passes)]


LINES = (
    Pass("ensure-debug-info-scope-on-llvm-func", (("emission-kind", "LineTablesOnly"),)).argument,
    "--mlir-print-debuginfo",
)
"""More arguments: places of the source become lines of debug information."""

_OPTIMISE = (
    "internalize",
    "default<O2>",  # -O3 differs in how much it unrolls, which kernels have no use for
    # Vectors of 64 elements go through memory a register at a time.
    "function(scalarizer<load-store;min-bits=512>,instcombine<no-verify-fixpoint>)",
)
_OPTIONS = ("-unroll-threshold=60",)


def optimise_passes(public: Path) -> list[str]:
    """The arguments of `opt`: hide all but the functions that a file lists, then -O2.

    A file, because an argument has a bound on its length, and names of functions have none.
    """
    return [
        f"-passes={','.join(_OPTIMISE)}",
        *_OPTIONS,
        f"-internalize-public-api-file={public}",
    ]


CODEGEN = ("-O3", "-relocation-model=pic", "-fp-contract=off")
"""The arguments of `llc`: Kina decides what is fused, LLVM never contracts."""

CLANG = ("-O2", "-ffp-contract=off", "-Wno-override-module")
"""The arguments of zig's clang, where it does what `llc` does elsewhere."""
