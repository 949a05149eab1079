"""Lowered MLIR to LLVM IR, assembly, objects and shared libraries."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from kina.backend import pipeline, scratch
from kina.backend.activity import Step, unwatched
from kina.backend.targets import Target, host_machine
from kina.backend.toolchain import (
    AR,
    CC,
    LLC,
    MLIR_OPT,
    MLIR_TRANSLATE,
    OBJCOPY,
    OPT,
    Process,
    Tool,
    cross_cc,
    run,
)

# No start-up files: some compilers' switch the whole process to flush-to-zero. Bsymbolic: two
# libraries with functions of one name must not see each other's. Code and constants share pages:
# a library of 10 KB would otherwise have 8 KB of padding, and another page for the few words that
# could be made read-only again after loading.
_LINK_FLAGS = {
    "linux": (
        "-shared",
        "-nostartfiles",
        "-pthread",
        "-Wl,--as-needed",
        "-Wl,-z,defs",
        "-Wl,-z,noexecstack",
        "-Wl,-z,noseparate-code",
        "-Wl,-z,norelro",
        "-Wl,-Bsymbolic",
    ),
    "darwin": ("-dynamiclib", "-Wl,-undefined,error"),
}
# They must run on every CPU of the architecture, and bring in nothing that starts up. They hand out
# work and do none. Nothing is thrown through them, and what they call has no tables either.
_C_FLAGS = (
    *("-Os", "-fPIC", "-fvisibility=hidden", "-fno-asynchronous-unwind-tables"),
    *("-Wall", "-Wextra"),
)
_C_MACHINE_FLAGS = {"x86_64": ("-march=x86-64",), "aarch64": ("-mno-outline-atomics",)}


class Translator:
    """mlir-opt and mlir-translate, started; they load while the program is still being lowered.

    `stack` stops the tools in the end; `lines` keeps places of the source.
    """

    def __init__(self, stack: ExitStack, *, lines: bool = False) -> None:
        arguments = pipeline.arguments(pipeline.TO_LLVM)
        if lines:
            arguments += pipeline.LINES
        self._opt = stack.enter_context(Process(MLIR_OPT, arguments))
        self._translate = stack.enter_context(Process(MLIR_TRANSLATE, ["--mlir-to-llvmir"]))

    def to_llvm_ir(self, code: str, step: Step = unwatched) -> str:
        """LLVM IR of a module. Once per translator."""
        return self._translate.finish(self._opt.finish(code, step), step)


class Compiler:
    """opt and llc for one target, started likewise; all but the `public` functions are internal."""

    def __init__(self, stack: ExitStack, target: Target, public: Sequence[str], path: Path) -> None:
        self.path = path
        self._target = target
        listed = path.with_suffix(".txt")
        listed.write_text("\n".join(public), encoding="utf-8")
        self._opt = stack.enter_context(Process(OPT, _optimise(target, listed)))
        self._llc = stack.enter_context(Process(LLC, _to_object(target, path)))

    def to_object(self, llvm_ir: str, rename: Callable[[str], str], step: Step = unwatched) -> None:
        """Write LLVM IR as an object file, its functions renamed. Once per compiler."""

        def of_target(what: str) -> AbstractContextManager[object]:
            return step(f"{what} for {self._target.name}")

        self._llc.finish(rename(self._opt.finish(llvm_ir, of_target)), of_target)


def to_llvm_ir(code: str, step: Step = unwatched, *, lines: bool = False) -> str:
    """LLVM IR of a module for mlir-opt; with the `lines` of its places as debug information."""
    with ExitStack() as stack:
        return Translator(stack, lines=lines).to_llvm_ir(code, step)


def optimise(llvm_ir: str, target: Target, public: Sequence[str]) -> str:
    """LLVM IR after -O2, all but the `public` functions internal."""
    with scratch.folder() as folder:
        listed = folder / "public.txt"
        listed.write_text("\n".join(public), encoding="utf-8")
        return run(OPT, _optimise(target, listed), llvm_ir)


def _optimise(target: Target, public: Path) -> list[str]:
    return ["-S", *target.flags, *pipeline.optimise_passes(public)]


def to_assembly(llvm_ir: str, target: Target) -> str:
    """The assembly of optimised LLVM IR."""
    return run(LLC, [*target.flags, *pipeline.CODEGEN], llvm_ir)


def to_object(llvm_ir: str, target: Target, path: Path) -> None:
    """Write optimised LLVM IR as an object file."""
    run(LLC, _to_object(target, path), llvm_ir)


def _to_object(target: Target, path: Path) -> list[str | Path]:
    return [*target.flags, *pipeline.CODEGEN, "-filetype=obj", "-o", path]


def compile_c(
    source: Path, path: Path, target: Target, macros: Mapping[str, str], step: Step = unwatched
) -> None:
    """Compile a C file of Kina's to an object for the machine of `target`."""
    defined = (f"-D{name}={value}" for name, value in macros.items())
    flags = (*_C_FLAGS, *_C_MACHINE_FLAGS.get(_machine(target), ()), *defined)
    run(_c_compiler(target), [*flags, "-c", "-o", path, source], step=step)


def link(
    inputs: Sequence[Path], path: Path, target: Target, soname: str = "", step: Step = unwatched
) -> None:
    """Link objects to a library that depends on libc at most."""
    flags = [*_LINK_FLAGS[sys.platform], *_named(soname)]
    run(_c_compiler(target), [*flags, "-o", path, *inputs], step=step)


def merge(inputs: Sequence[Path], path: Path, target: Target, step: Step = unwatched) -> None:
    """Make one object file of several, or a static library of that one.

    What they share among themselves becomes local: two such files can meet in one program.
    """
    with scratch.folder() as folder:
        merged, local = folder / "merged.o", folder / "kina.o"
        run(_c_compiler(target), ["-r", "-nostdlib", "-o", merged, *inputs], step=step)
        run(OBJCOPY, ["--localize-hidden", merged, local], step=step)
        if path.suffix == ".a":
            run(AR, ["rcsD", path, local], step=step)
        else:
            shutil.copyfile(local, path)


def _named(soname: str) -> list[str]:
    """One argument each, since a name may have a comma."""
    if not soname:
        return []
    words = ("-install_name", f"@rpath/{soname}") if sys.platform == "darwin" else ("-h", soname)
    return [part for word in words for part in ("-Xlinker", word)]


def _machine(target: Target) -> str:
    return target.machine or host_machine()


def _c_compiler(target: Target) -> Tool:
    machine = _machine(target)
    return CC if machine == host_machine() else cross_cc(machine)
