"""Lowered MLIR to LLVM IR, assembly and objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

from kina.backend import pipeline, scratch
from kina.backend.activity import Step, unwatched
from kina.backend.targets import Target
from kina.backend.toolchain import LLC, MLIR_OPT, MLIR_TRANSLATE, OPT, ZIG, Process, Tool, run


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
    """opt and llc for one target, started likewise; all but the `public` functions are internal.

    zig's clang takes the place of llc for machines that it does not know.
    """

    def __init__(self, stack: ExitStack, target: Target, public: Sequence[str], path: Path) -> None:
        self.path = path
        self._target = target
        listed = path.with_suffix(".txt")
        listed.write_text("\n".join(public), encoding="utf-8")
        self._opt = stack.enter_context(Process(OPT, _optimise(target, listed)))
        self._llc = stack.enter_context(Process(*_to_object(target, path)))

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
    if target.clang is not None:
        return run(ZIG, [*_clang(target), "-S", "-o", "-"], llvm_ir)
    return run(LLC, [*target.flags, *pipeline.CODEGEN], llvm_ir)


def to_object(llvm_ir: str, target: Target, path: Path) -> None:
    """Write optimised LLVM IR as an object file."""
    run(*_to_object(target, path), llvm_ir)


def _to_object(target: Target, path: Path) -> tuple[Tool, list[str | Path]]:
    if target.clang is not None:
        return ZIG, [*_clang(target), "-c", "-o", path]
    return LLC, [*target.flags, *pipeline.CODEGEN, "-filetype=obj", "-o", path]


def _clang(target: Target) -> list[str | Path]:
    """What zig's clang is told to read LLVM IR from its input."""
    assert target.clang is not None
    named = f"--target={target.triple}"
    return ["clang", named, *target.clang.flags, *pipeline.CLANG, "-x", "ir", "-"]
