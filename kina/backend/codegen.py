"""Lowered MLIR to LLVM IR, assembly, objects and shared libraries."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from kina.backend import pipeline
from kina.backend.frames import check_allocations
from kina.backend.targets import Target, host_machine
from kina.backend.toolchain import CC, LLC, MLIR_OPT, MLIR_TRANSLATE, OPT, cross_cc, run

# No start-up files: some compilers' switch the whole process to flush-to-zero. Bsymbolic: two
# libraries with functions of one name must not see each other's.
_LINK_FLAGS = {
    "linux": (
        "-shared",
        "-nostartfiles",
        "-Wl,--as-needed",
        "-Wl,-z,defs",
        "-Wl,-z,noexecstack",
        "-Wl,-Bsymbolic",
    ),
    "darwin": ("-dynamiclib", "-Wl,-undefined,error"),
}
# For the functions that choose, in a fat library; they must run on every CPU.
_C_FLAGS = ("-O2", "-fPIC", "-fvisibility=hidden", "-march=x86-64", "-Wall", "-Wextra")


def to_llvm_ir(mlir: str) -> str:
    """LLVM IR of a module in the form that assert-to-status leaves: linalg on tensors, C functions.

    Every function's heap is checked.
    """
    lowered = run(MLIR_OPT, pipeline.arguments(pipeline.MLIR_PASSES), mlir)
    return check_allocations(run(MLIR_TRANSLATE, ["--mlir-to-llvmir"], lowered))


def optimise(llvm_ir: str, target: Target, public: Sequence[str]) -> str:
    """LLVM IR after -O3, all but the `public` functions internal."""
    return run(OPT, ["-S", *target.flags, *pipeline.optimise_passes(public)], llvm_ir)


def to_assembly(llvm_ir: str, target: Target) -> str:
    """The assembly of optimised LLVM IR."""
    return run(LLC, [*target.flags, *pipeline.CODEGEN], llvm_ir)


def to_object(llvm_ir: str, target: Target, path: Path) -> None:
    """Write optimised LLVM IR as an object file."""
    run(LLC, [*target.flags, *pipeline.CODEGEN, "-filetype=obj", "-o", path], llvm_ir)


def link(inputs: Sequence[Path], path: Path, target: Target) -> None:
    """Link objects (and compile C files) to a library that depends on libc and libm at most."""
    compiler = CC if target.machine in ("", host_machine()) else cross_cc(target.machine)
    c_flags = _C_FLAGS if any(item.suffix == ".c" for item in inputs) else ()
    run(compiler, [*_LINK_FLAGS[sys.platform], *c_flags, "-o", path, *inputs, "-lm"])
