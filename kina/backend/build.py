"""From source text to a compiled program: the one way in for the runtime and the command line."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from kina.backend import cache, codegen, targets
from kina.backend.cache import Artifact
from kina.backend.codegen import Code
from kina.backend.metadata import CompiledFunction
from kina.backend.options import Options
from kina.backend.targets import TARGETS, Target
from kina.errors import KinaValueError
from kina.frontend.source import Source

NATIVE = Options()


def build(source: Source, options: Options = NATIVE) -> Artifact:
    """The compiled program, from the cache if it is there.

    Raises `KinaSyntaxError`, `KinaTypeError` for a wrong program, `KinaToolchainError` for a
    missing or failing tool.
    """
    name = cache.key(source.name, source.text, options)
    return cache.lookup(name) or cache.store(name, lambda folder: _compile(source, options, folder))


def _compile(source: Source, options: Options, folder: Path) -> Sequence[CompiledFunction]:
    from kina.backend.lowering import Lowered, lower

    # Targets differ before LLVM only in whether exact instructions are missing.
    lowered: dict[bool, Lowered] = {}
    compiled: dict[str, Code] = {}
    for target in targets.single_targets(options.target):
        if target.emulates not in lowered:
            lowered[target.emulates] = lower(source, replace(options, target=target.name))
        compiled[target.name] = lowered[target.emulates].code
    program = next(iter(lowered.values()))
    (folder / cache.IR).write_text(program.kina_ir, encoding="utf-8")
    assemble(compiled, program.functions, folder / cache.LIBRARY)
    return program.functions


def assemble(
    compiled: Mapping[str, Code], functions: Sequence[CompiledFunction], library: Path
) -> None:
    """Compile a module per target into a library that exports `functions` alone."""
    from kina.backend import dispatch

    symbols = [function.symbol for function in functions]
    llvm_ir = {code: codegen.to_llvm_ir(code) for code in set(compiled.values())}
    fat = len(compiled) > 1
    with tempfile.TemporaryDirectory(prefix="kina-") as folder:
        inputs: list[Path] = []
        for name, code in compiled.items():
            target = TARGETS[name]
            optimised = codegen.optimise(llvm_ir[code], target, symbols)
            text = dispatch.rename(optimised, symbols, name) if fat else optimised
            inputs.append(Path(folder, f"{name}.o"))
            codegen.to_object(text, target, inputs[-1])
        if fat:
            inputs.append(Path(folder, "dispatch.c"))
            inputs[-1].write_text(dispatch.c_source(functions, list(compiled)), encoding="utf-8")
        openmp = any(map(codegen.uses_openmp, llvm_ir.values()))
        codegen.link(inputs, library, TARGETS[next(iter(compiled))], openmp=openmp)


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
    lowered = lower(source, options)
    symbols = [function.symbol for function in lowered.functions]
    return codegen.optimise(codegen.to_llvm_ir(lowered.code), target, symbols)


def _emit_schedule(source: Source, options: Options) -> str:
    from kina.backend.lowering import lower

    code = lower(source, replace(options, target=_one_target(options).name)).code
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
