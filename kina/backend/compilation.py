"""Compiles a program: the front end, the passes, then the tools, side by side where they can be."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from kina.backend import ahead, cache, codegen, dispatch, linking, scratch, threads
from kina.backend.activity import Activity, Step
from kina.backend.c_names import check_symbols
from kina.backend.exports import chosen
from kina.backend.metadata import Compiled, CompiledFunction
from kina.backend.options import Options
from kina.backend.targets import Target, single_targets
from kina.frontend.check import check
from kina.frontend.source import Source
from kina.frontend.typed import Apply, TypedProgram
from kina.garbage import seldom_collected


def compile_program(
    source: Source,
    options: Options,
    folder: Path,
    meanwhile: Callable[[], object],
    activity: Activity,
) -> Compiled:
    """Write the library and the kina IR to `folder`; errors as `build`.

    `meanwhile` is called while the tools run; `activity` is told what runs.
    """
    with activity.step("front end"):
        program = checked(source, options)
    with ExitStack() as stack:
        stack.enter_context(seldom_collected())
        tools = _Tools(stack, program, options, activity)
        # Loads xDSL: longer than it takes the tools to load, side by side.
        lowering = stack.enter_context(ahead.lowering(program))
        if ahead.is_started():
            meanwhile()
        functions: dict[str, CompiledFunction] = {}
        groups = tools.groups
        with activity.step("passes"):
            count = lowering.count
        steps = iter(activity.parts(len(groups) * count))
        parts = lowering.parts(options, [targets[0].name for targets in groups])
        for _ in range(count):
            for targets, step in zip(groups, steps, strict=False):
                with step("passes"):
                    part = next(parts)
                tools.compile(targets, part.code, step)
                if any(function.threads for function in part.functions):
                    tools.add_pool()
                if part.holds:
                    tools.add_held()
                functions.update((function.name, function) for function in part.functions)
        scratch.write(folder / cache.IR, lowering.kina_ir)
        meanwhile()
        exported = tuple(functions[name] for name in program.exported)
        tools.link(folder / options.product.value, options.soname)
    return Compiled(exported, program.warnings)


def checked(source: Source, options: Options) -> TypedProgram:
    """The typed program with what it exports, if the names are free.

    Raises what the front end raises, and `KinaValueError` for a name that cannot be exported.
    """
    program = chosen(check(source), options.functions)
    exported = program.exported
    places = {
        name: source.span(*function.extent)
        for function in program.functions
        if function.signature.name in exported
        for name in (function.signature.name, program.symbols[function.signature.name])
    }
    check_symbols(places, options.prefix)
    return program


def _groups(targets: Sequence[Target], program: TypedProgram) -> list[tuple[Target, ...]]:
    """Targets that have the same code before LLVM.

    Those with exact instructions, and others; each model of a machine has its own products.
    """
    groups: dict[object, list[Target]] = {}
    has_products = _has_products(program)
    for target in targets:
        groups.setdefault(target.model if has_products else target.emulates, []).append(target)
    # The most work first.
    return sorted(map(tuple, groups.values()), key=len, reverse=True)


def _has_products(program: TypedProgram) -> bool:
    """Whether matrices are multiplied, in tiles as large as registers allow."""
    bodies = (function.body for function in program.functions)
    return any(isinstance(op, Apply) and op.op == "matmul" for body in bodies for op in body)


HELD = Path(__file__).with_name("held.c")


class _Tools:
    """The processes that make one library; what can run at the same time does."""

    def __init__(
        self, stack: ExitStack, program: TypedProgram, options: Options, activity: Activity
    ) -> None:
        self._activity = activity
        self._folder = stack.enter_context(scratch.folder())
        self._symbols = [options.prefix + symbol for symbol in program.symbols.values()]
        own = (options.prefix + name for name in program.exported)
        names = dict.fromkeys([*self._symbols, *own])
        self._set_threads = threads.set_threads_symbol(names, options.prefix)
        self._targets = single_targets(options.target)
        self.groups = _groups(self._targets, program)
        """Targets that have the same code before LLVM."""
        # For the first part; all others find the cores busy anyway.
        self._translators = {group: codegen.Translator(stack) for group in self.groups}
        self._compilers = {
            target: codegen.Compiler(
                stack, target, self._symbols, self._folder / f"{target.name}.o"
            )
            for target in self._targets
        }
        self._pool = stack.enter_context(ThreadPoolExecutor(os.cpu_count()))
        self._parts: list[Future[list[Future[Path]]]] = []
        self._exported = [
            (options.prefix + program.symbols[name], program.signatures[name])
            for name in program.exported
        ]
        self._dispatch = self._compile_dispatch() if len(self._targets) > 1 else None
        sized = any(signature.symbols for _, signature in self._exported)
        # What has sizes of all kinds nearly always shares large ones; a core is free now.
        self._team = self._compile_pool() if sized and options.has_team else None
        self._has_team = False
        self._held: Future[Path] | None = None

    def compile(self, group: tuple[Target, ...], code: str, step: Step) -> None:
        """Begin with a part's code for the targets of one of the groups."""
        translator = self._translators.pop(group, None)
        compilers = [(target, self._compilers.pop(target, None)) for target in group]
        self._parts.append(self._pool.submit(self._translate, code, translator, compilers, step))

    def add_pool(self) -> None:
        """The library will contain the pool of threads."""
        self._has_team = True
        self._team = self._team or self._compile_pool()

    def add_held(self) -> None:
        """The library will contain what holds memory from call to call."""
        self._held = self._held or self._compile_c(HELD, {})

    def link(self, library: Path, soname: str) -> None:
        """Write a library that exports the functions alone, once all code is there."""
        parts = [part.result() for part in self._parts]
        made = [each for part in parts for each in part]
        made += [self._dispatch] if self._dispatch else []
        made += [self._team] if self._team and self._has_team else []
        made += [self._held] if self._held else []
        objects = [each.result() for each in made]
        if library.suffix == ".so":
            exported = [symbol for symbol, _ in self._exported]
            target, step = self._targets[0], self._activity.step
            linking.link(objects, library, target, exported, soname, step)
        else:
            linking.merge(objects, library, self._targets[0], self._activity.step)

    def _compile_dispatch(self) -> Future[Path]:
        source = self._folder / "dispatch.c"
        levels = [target.cpu for target in self._targets]
        scratch.write(source, dispatch.c_source(self._exported, levels))
        return self._compile_c(source, {})

    def _compile_pool(self) -> Future[Path]:
        return self._compile_c(threads.POOL, {threads.MACRO: self._set_threads})

    def _compile_c(self, source: Path, macros: Mapping[str, str]) -> Future[Path]:
        path = self._folder / f"{source.name}.o"

        def compiled() -> Path:
            linking.compile_c(source, path, self._targets[0], macros, self._activity.step)
            return path

        return self._pool.submit(compiled)

    def _translate(
        self,
        code: str,
        translator: codegen.Translator | None,
        compilers: Sequence[tuple[Target, codegen.Compiler | None]],
        step: Step,
    ) -> list[Future[Path]]:
        to_llvm_ir = translator.to_llvm_ir if translator else codegen.to_llvm_ir
        llvm_ir = to_llvm_ir(code, step)
        # Submitted from here, so that no thread of the pool waits for another.
        return [self._pool.submit(self._to_object, llvm_ir, *each, step) for each in compilers]

    def _to_object(
        self, llvm_ir: str, target: Target, compiler: codegen.Compiler | None, step: Step
    ) -> Path:
        with ExitStack() as stack:
            if compiler is None:
                handle, name = tempfile.mkstemp(".o", f"{target.name}-", self._folder)
                os.close(handle)
                compiler = codegen.Compiler(stack, target, self._symbols, Path(name))
            compiler.to_object(llvm_ir, partial(self._rename, target), step)
            return compiler.path

    def _rename(self, target: Target, llvm_ir: str) -> str:
        fat = len(self._targets) > 1
        return dispatch.rename(llvm_ir, self._symbols, target.cpu) if fat else llvm_ir
