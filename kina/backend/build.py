"""From source text to a compiled program: the one way in for the runtime and the command line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from kina.backend import cache
from kina.backend.cache import Artifact
from kina.backend.metadata import CompiledFunction
from kina.backend.options import Options
from kina.backend.targets import TARGETS
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
    from kina.backend.lowering import lower

    lowered = lower(source, options)
    (folder / cache.IR).write_text(lowered.kina_ir, encoding="utf-8")
    symbols = [function.symbol for function in lowered.functions]
    assemble(lowered.mlir, symbols, options, folder / cache.LIBRARY)
    return lowered.functions


def assemble(mlir: str, symbols: Sequence[str], options: Options, library: Path) -> None:
    """Compile lowered MLIR into `library`, which exports `symbols` and nothing else."""
    from kina.backend import codegen

    target = TARGETS[options.target]
    optimised = codegen.optimise(codegen.to_llvm_ir(mlir), target, symbols)
    compiled = library.with_suffix(".o")
    codegen.to_object(optimised, target, compiled)
    codegen.link([compiled], library)
    compiled.unlink()


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
    from kina.backend import codegen
    from kina.backend.lowering import lower

    lowered = lower(source, options)
    symbols = [function.symbol for function in lowered.functions]
    return codegen.optimise(codegen.to_llvm_ir(lowered.mlir), TARGETS[options.target], symbols)


def _emit_asm(source: Source, options: Options) -> str:
    from kina.backend import codegen

    return codegen.to_assembly(_emit_llvm(source, options), TARGETS[options.target])


_EMITTERS: dict[str, Callable[[Source, Options], str]] = {
    "kina": _emit_kina,
    "linalg": _emit_linalg,
    "llvm": _emit_llvm,
    "asm": _emit_asm,
}
