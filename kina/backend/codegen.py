"""Lowered MLIR to LLVM IR, assembly, objects and shared libraries."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kina.backend import pipeline
from kina.backend.frames import check_allocations
from kina.backend.prefetch import fetch_next_rows
from kina.backend.targets import Target, host_machine
from kina.backend.toolchain import (
    CC,
    LLC,
    MLIR_OPT,
    MLIR_TRANSLATE,
    OPT,
    cross_cc,
    openmp_library,
    run,
)

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


@dataclass(frozen=True, slots=True)
class Code:
    """A module for mlir-opt: C functions on linalg, and the schedule of its kernels, if any."""

    mlir: str
    schedule: str | None = None


def to_llvm_ir(code: Code) -> str:
    """LLVM IR of a module; every function's heap is checked, kernels fetch the next row."""
    llvm_ir = run(MLIR_TRANSLATE, ["--mlir-to-llvmir"], _to_llvm_dialect(code))
    return fetch_next_rows(check_allocations(llvm_ir))


def _to_llvm_dialect(code: Code) -> str:
    if code.schedule is None:
        return run(MLIR_OPT, pipeline.arguments(pipeline.mlir_passes(None)), code.mlir)
    with tempfile.TemporaryDirectory(prefix="kina-") as folder:
        schedule = Path(folder, "schedule.mlir")
        schedule.write_text(code.schedule, encoding="utf-8")
        return run(MLIR_OPT, pipeline.arguments(pipeline.mlir_passes(schedule)), code.mlir)


def optimise(llvm_ir: str, target: Target, public: Sequence[str]) -> str:
    """LLVM IR after -O3, all but the `public` functions internal."""
    return run(OPT, ["-S", *target.flags, *pipeline.optimise_passes(public)], llvm_ir)


def to_assembly(llvm_ir: str, target: Target) -> str:
    """The assembly of optimised LLVM IR."""
    return run(LLC, [*target.flags, *pipeline.CODEGEN], llvm_ir)


def to_object(llvm_ir: str, target: Target, path: Path) -> None:
    """Write optimised LLVM IR as an object file."""
    run(LLC, [*target.flags, *pipeline.CODEGEN, "-filetype=obj", "-o", path], llvm_ir)


def uses_openmp(llvm_ir: str) -> bool:
    """Whether a call in this module may run on several threads."""
    return "@__kmpc_fork_call" in llvm_ir


def link(inputs: Sequence[Path], path: Path, target: Target, *, openmp: bool = False) -> None:
    """Link objects (and compile C files) to a library that depends on libc at most.

    With `openmp` it depends on LLVM's OpenMP runtime as well, where this machine has it.
    """
    compiler = CC if target.machine in ("", host_machine()) else cross_cc(target.machine)
    c_flags = _C_FLAGS if any(item.suffix == ".c" for item in inputs) else ()
    libraries = _openmp_arguments(openmp_library(compiler)) if openmp else []
    run(compiler, [*_LINK_FLAGS[sys.platform], *c_flags, "-o", path, *inputs, *libraries])


def _openmp_arguments(library: Path) -> list[str | Path]:
    return [library, f"-Wl,-rpath,{library.parent}"]
