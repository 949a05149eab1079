"""From source text to a compiled program: the one way in for the runtime and the command line."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from kina.backend import cache, codegen, targets
from kina.backend.c_names import check_symbol
from kina.backend.cache import Artifact
from kina.backend.codegen import Code
from kina.backend.metadata import CompiledFunction
from kina.backend.options import Options
from kina.backend.targets import Target
from kina.errors import KinaValueError
from kina.frontend.source import Source
from kina.frontend.typed import TypedProgram

NATIVE = Options()


def build(source: Source, options: Options = NATIVE) -> Artifact:
    """The compiled program, from the cache if it is there.

    Raises `KinaSyntaxError`, `KinaTypeError` for a wrong program, `KinaToolchainError` for a
    missing or failing tool.
    """
    name = cache.key(source.name, source.text, options)
    return cache.lookup(name) or cache.store(name, lambda folder: _compile(source, options, folder))


def _compile(source: Source, options: Options, folder: Path) -> Sequence[CompiledFunction]:
    program = _checked(source, options)
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
        functions = made[0].functions
        tools.link(functions, folder / cache.LIBRARY)
    (folder / cache.IR).write_text(made[0].kina_ir, encoding="utf-8")
    return functions


def _checked(source: Source, options: Options) -> TypedProgram:
    from kina.frontend.check import check

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
        self._llvm_ir: dict[bool, Future[str]] = {}

    def translate(self, target: Target, code: Code) -> None:
        """Begin with the code of `target` and of those that have the same."""
        translator = self._translators[target.emulates]
        self._llvm_ir[target.emulates] = self._pool.submit(translator.to_llvm_ir, code)

    def link(self, functions: Sequence[CompiledFunction], library: Path) -> None:
        """Write a library that exports `functions` alone, once all code is there."""
        from kina.backend import dispatch

        inputs = list(self._pool.map(self._to_object, self._targets, self._compilers))
        if len(inputs) > 1:
            inputs.append(self._folder / "dispatch.c")
            levels = [target.name for target in self._targets]
            inputs[-1].write_text(dispatch.c_source(functions, levels), encoding="utf-8")
        openmp = any(codegen.uses_openmp(ir.result()) for ir in self._llvm_ir.values())
        codegen.link(inputs, library, self._targets[0], openmp=openmp)

    def _to_object(self, target: Target, compiler: codegen.Compiler) -> Path:
        compiler.to_object(self._llvm_ir[target.emulates].result(), partial(self._rename, target))
        return compiler.path

    def _rename(self, target: Target, llvm_ir: str) -> str:
        from kina.backend import dispatch

        fat = len(self._targets) > 1
        return dispatch.rename(llvm_ir, self._symbols, target.name) if fat else llvm_ir


def emit(source: Source, stage: str, options: Options = NATIVE) -> str:
    """The program as text at one of `pipeline.STAGES`."""
    return _EMITTERS[stage](source, options)


def _emit_kina(source: Source, _options: Options) -> str:
    from kina.backend.lowering import kina_module, show

    return show(kina_module(source)[0])


def _emit_linalg(source: Source, _options: Options) -> str:
    from kina.backend.lowering import kina_module, show, to_linalg

    module, _ = kina_module(source)
    to_linalg(module)
    return show(module)


def _emit_llvm(source: Source, options: Options) -> str:
    from kina.backend.lowering import lower

    target = _one_target(options)
    lowered = lower(_checked(source, options), options)
    symbols = [function.symbol for function in lowered.functions]
    return codegen.optimise(codegen.to_llvm_ir(lowered.code), target, symbols)


def _emit_schedule(source: Source, options: Options) -> str:
    from kina.backend.lowering import lower

    code = lower(_checked(source, options), replace(options, target=_one_target(options).name)).code
    return f"{code.mlir}\n// What mlir-opt does to it:\n\n{code.schedule or ''}"


def _emit_asm(source: Source, options: Options) -> str:
    return codegen.to_assembly(_emit_llvm(source, options), _one_target(options))


def _one_target(options: Options) -> Target:
    found = targets.single_targets(options.target)
    if len(found) > 1:
        known = ", ".join(target.name for target in found)
        raise KinaValueError(f"the target '{options.target}' holds several: choose one of {known}")
    return found[0]


_EMITTERS: dict[str, Callable[[Source, Options], str]] = {
    "kina": _emit_kina,
    "linalg": _emit_linalg,
    "schedule": _emit_schedule,
    "llvm": _emit_llvm,
    "asm": _emit_asm,
}
