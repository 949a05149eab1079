"""A checked program to the MLIR text that the tools take; the only part that loads xDSL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.printer import Printer

from kina.backend import pipeline
from kina.backend.codegen import Code
from kina.backend.index_ranges import index_ranges
from kina.backend.metadata import CompiledFunction
from kina.backend.options import Options
from kina.backend.targets import TARGETS
from kina.frontend.check import check
from kina.frontend.irgen import generate
from kina.frontend.source import Source
from kina.frontend.typed import TypedProgram
from kina.types import Signature
from kina.universe import pass_getter


@dataclass(frozen=True, slots=True)
class Lowered:
    """A program on both sides of the passes."""

    kina_ir: str
    code: Code
    functions: tuple[CompiledFunction, ...]


def kina_module(source: Source) -> tuple[ModuleOp, dict[str, Signature]]:
    """The kina IR of a program and its signatures; all of a program's errors are raised at once."""
    program = check(source)
    return generate(program), program.signatures


def show(module: ModuleOp, *, locations: bool = False) -> str:
    """The module as text."""
    stream = StringIO()
    Printer(stream, print_debuginfo=locations).print_op(module)
    return stream.getvalue() + "\n"


def to_linalg(module: ModuleOp) -> None:
    """kina IR to linalg, in place."""
    _apply(module, pipeline.INLINE + pipeline.TO_LINALG)


def lower(program: TypedProgram, options: Options) -> Lowered:
    """The whole way from a typed program to C functions on linalg."""
    module, signatures = generate(program), program.signatures
    _apply(module, pipeline.INLINE)
    kina_ir = show(module, locations=True)
    ranges = {name: index_ranges(function) for name, function in _functions(module).items()}
    emulates = TARGETS[options.target].emulates
    names = pipeline.TO_LINALG + pipeline.TO_C + (pipeline.SCHEDULE if options.fast else ())
    _apply(
        module,
        names,
        prefix=options.prefix,
        f16=emulates,
        fast=options.fast,
        threads=options.threads,
    )
    schedule = module.attributes.pop(pipeline.SCHEDULE_ATTRIBUTE, None)
    exported = _functions(module)
    functions = tuple(
        CompiledFunction(
            signature,
            symbol := options.prefix + signature.name,
            _strings(exported[symbol].attributes.get("status_messages")),
            ranges[signature.name],
        )
        for signature in signatures.values()
    )
    code = Code(
        show(module, locations=True), schedule.data if isinstance(schedule, StringAttr) else None
    )
    return Lowered(kina_ir, code, functions)


def _functions(module: ModuleOp) -> dict[str, FuncOp]:
    return {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}


def _apply(module: ModuleOp, names: Sequence[str], **options: str | bool) -> None:
    """Run passes, each with those of the options that it has."""
    context = Context()
    for name in names:
        pass_type = pass_getter(name)()
        accepted = {key: options[key] for key in options if key in pass_type.__dataclass_fields__}
        pass_type(**accepted).apply(context, module)
    module.verify()


def _strings(attribute: Attribute | None) -> tuple[str, ...]:
    if attribute is None:
        return ()
    return tuple(item.data for item in cast(ArrayAttr[StringAttr], attribute))
