"""Compiles a program: the front end, the passes, then the tools, side by side where they can be."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from kina.backend import cache, codegen, dispatch, targets
from kina.backend.c_names import check_symbol
from kina.backend.codegen import Code
from kina.backend.metadata import CompiledFunction
from kina.backend.options import Options
from kina.backend.targets import Target
from kina.frontend.check import check
from kina.frontend.source import Source
from kina.frontend.typed import TypedProgram


def compile_program(
    source: Source, options: Options, folder: Path, meanwhile: Callable[[], object]
) -> Sequence[CompiledFunction]:
    """Write the library and the kina IR to `folder`; errors as `build`.

    `meanwhile` is called while the tools run.
    """
    program = checked(source, options)
    found = targets.single_targets(options.target)
    with ExitStack() as stack:
        tools = _Tools(stack, found, _symbols(program, options), options)
        # Loads xDSL: longer than it takes the tools to load, side by side.
        from kina.backend.lowering import Lowered, lower

        # Targets differ before LLVM only in whether exact instructions are missing.
        made: list[Lowered] = []
        for target in {target.emulates: target for target in found}.values():
            made.append(lower(program, replace(options, target=target.name)))
            tools.translate(target, made[-1].code)
        (folder / cache.IR).write_text(made[0].kina_ir, encoding="utf-8")
        meanwhile()
        tools.link(made[0].functions, folder / cache.LIBRARY)
    return made[0].functions


def checked(source: Source, options: Options) -> TypedProgram:
    """The typed program, if its exported names are free; raises what the front end raises."""
    program = check(source)
    for symbol in _symbols(program, options):
        check_symbol(symbol, options.prefix)
    return program


def _symbols(program: TypedProgram, options: Options) -> list[str]:
    return [options.prefix + name for name in program.signatures]


class _Tools:
    """The processes that make one library; what can run at the same time does."""

    def __init__(
        self, stack: ExitStack, found: Sequence[Target], symbols: Sequence[str], options: Options
    ) -> None:
        self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="kina-")))
        self._targets, self._symbols = found, symbols
        self._translators = {
            emulates: codegen.Translator(stack, scheduled=options.fast)
            for emulates in {target.emulates for target in found}
        }
        self._compilers = [
            codegen.Compiler(stack, target, symbols, self._folder / f"{target.name}.o")
            for target in found
        ]
        # A thread per task, for some wait for others.
        threads = len(self._translators) + len(self._compilers)
        self._pool = stack.enter_context(ThreadPoolExecutor(threads))
        self._llvm_ir: list[Future[str]] = []
        self._objects: dict[Target, Future[Path]] = {}

    def translate(self, target: Target, code: Code) -> None:
        """Begin with the code of `target` and of those that have the same."""
        translator = self._translators[target.emulates]
        llvm_ir = self._pool.submit(translator.to_llvm_ir, code)
        self._llvm_ir.append(llvm_ir)
        for other, compiler in zip(self._targets, self._compilers, strict=True):
            if other.emulates == target.emulates:
                self._objects[other] = self._pool.submit(self._to_object, other, compiler, llvm_ir)

    def link(self, functions: Sequence[CompiledFunction], library: Path) -> None:
        """Write a library that exports `functions` alone, once all code is there."""
        inputs = [self._objects[target].result() for target in self._targets]
        if len(inputs) > 1:
            inputs.append(self._folder / "dispatch.c")
            levels = [target.name for target in self._targets]
            inputs[-1].write_text(dispatch.c_source(functions, levels), encoding="utf-8")
        openmp = any(codegen.uses_openmp(ir.result()) for ir in self._llvm_ir)
        codegen.link(inputs, library, self._targets[0], openmp=openmp)

    def _to_object(self, target: Target, compiler: codegen.Compiler, llvm_ir: Future[str]) -> Path:
        compiler.to_object(llvm_ir.result(), partial(self._rename, target))
        return compiler.path

    def _rename(self, target: Target, llvm_ir: str) -> str:
        fat = len(self._targets) > 1
        return dispatch.rename(llvm_ir, self._symbols, target.name) if fat else llvm_ir
