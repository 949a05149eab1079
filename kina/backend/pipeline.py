"""The one list of passes from kina IR to LLVM IR, as data.

`PASSES` run in this process, on xDSL; `MLIR_PASSES` run in one `mlir-opt`. The order at the end
of `MLIR_PASSES` is what makes the C ABI: `convert-func-to-llvm` must meet the functions before
any other conversion does, or its bare-pointer option is silently ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

STAGES = ("kina", "linalg", "llvm", "asm")
"""What `kina emit --to` and `Function.mlir` show."""


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
"""kina IR without calls and without reverse mode: what the reference evaluates."""

TO_LINALG = ("simplify-kina", "decompose-kina", "simplify-kina", "lower-kina")
"""kina IR without calls to linalg on tensors: where `emit --to linalg` stops."""

TO_C = ("export-c", "check-sizes", "assert-to-status", "expand-math", "expand-small-floats")
"""linalg to functions with the C interface, in arithmetic that is exact on every target."""

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
    Pass("convert-func-to-llvm", (("use-bare-ptr-memref-call-conv", "true"),)),
    "reconcile-unrealized-casts",
    "canonicalize",
    "cse",
)
"""Plain loops to the LLVM dialect, bare pointers at the functions' boundary."""

MLIR_PASSES = BUFFERIZE + TO_LLVM


def arguments(passes: Sequence[Pass]) -> list[str]:
    """The passes as mlir-opt takes them."""
    return [item.argument for item in passes]


def optimise_passes(public: Sequence[str]) -> list[str]:
    """The arguments of `opt`: hide all but the `public` functions, then -O3."""
    return [
        "-passes=internalize,default<O3>",
        f"-internalize-public-api-list={','.join(public)}",
    ]


CODEGEN = ("-O3", "-relocation-model=pic", "-fp-contract=off")
"""The arguments of `llc`: Kina decides what is fused, LLVM never contracts."""
