"""The program as text at each stage of the pipeline, for people to read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kina.backend import codegen, scratch, targets
from kina.backend.build import NATIVE
from kina.backend.compilation import checked
from kina.backend.options import Options
from kina.backend.targets import Target
from kina.errors import KinaValueError
from kina.frontend.source import Source


def emit(source: Source, stage: str, options: Options = NATIVE) -> str:
    """The program as text at one of `STAGES`."""
    try:
        return _EMITTERS[stage](source, options)
    except OSError as error:
        raise scratch.unwritable(error) from None


def _emit_kina(source: Source, _options: Options) -> str:
    from kina.backend.ir_text import show
    from kina.backend.lowering import kina_module

    return show(kina_module(source)[0])


def _emit_linalg(source: Source, _options: Options) -> str:
    from kina.backend.ir_text import show
    from kina.backend.lowering import kina_module, to_linalg

    module, _ = kina_module(source)
    to_linalg(module)
    return show(module)


def _emit_llvm(source: Source, options: Options) -> str:
    from kina.backend.lowering import lower

    target = one_target(options)
    lowered = lower(checked(source, options), replace(options, target=target.name))
    symbols = [function.symbol for function in lowered.functions]
    return codegen.optimise(codegen.to_llvm_ir(lowered.code), target, symbols)


def _emit_schedule(source: Source, options: Options) -> str:
    from kina.backend.lowering import lower

    options = replace(options, target=one_target(options).name)
    lowered = lower(checked(source, options), options)
    return "".join(f"// {line}\n" for line in lowered.kernels) + "\n" + lowered.code


def _emit_asm(source: Source, options: Options) -> str:
    return codegen.to_assembly(_emit_llvm(source, options), one_target(options))


def one_target(options: Options) -> Target:
    """The machine that a stage is shown for; raises `KinaValueError` if there are several."""
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

STAGES = tuple(_EMITTERS)
"""What `kina emit --to` and `Function.mlir` show."""
