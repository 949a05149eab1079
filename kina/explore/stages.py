"""The stages of one program, each as lines with the places that they come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from kina.backend import codegen, scratch
from kina.backend.activity import Step
from kina.backend.compilation import checked
from kina.backend.ir_text import show
from kina.backend.lowering import Lowering, to_linalg
from kina.backend.options import Options
from kina.backend.stages import one_target
from kina.dims import Monomial, Terms, element_count, terms_of
from kina.explore.assembly import assembly_lines
from kina.explore.lines import Pane, Place, module_lines, place_calls
from kina.frontend.irgen import generate
from kina.frontend.lexer import tokenize
from kina.frontend.report import Report
from kina.frontend.source import Source
from kina.frozen import frozen
from kina.types import Signature


@frozen(slots=True)
class Traffic:
    """A function, and the bytes that it moves and must move, by its symbols."""

    signature: Signature
    moved: Terms
    needed: Terms


@frozen(slots=True)
class Stages:
    """What the compiler makes of a program, and what it is made from."""

    target: str
    source: Source
    tokens: Mapping[Place, int]
    """Where a word of the program begins, and how long it is."""
    panes: Sequence[Pane]
    traffic: Sequence[Traffic]


def stages(source: Source, options: Options, step: Step) -> Stages:
    """Compile a program and keep what lies between. Raises what `emit` raises."""
    try:
        return _stages(source, options, step)
    except OSError as error:
        raise scratch.unwritable(error) from None


def _stages(source: Source, options: Options, step: Step) -> Stages:
    target = one_target(options)
    options = replace(options, target=target.name)
    with step("checking"):
        program = checked(source, options)
    with step("linalg"):
        module = generate(program)
        kina_ir = module_lines(module)
        to_linalg(module)
        linalg = module_lines(module)
    with step("passes"):
        lowered, moved = Lowering(program).module(options)
        kernels = module_lines(lowered)
        place_calls(lowered)
        code = show(lowered, locations=True)
    llvm_ir = codegen.to_llvm_ir(code, step, lines=True)
    symbols = {name: options.prefix + symbol for name, symbol in program.symbols.items()}
    with step("opt and llc"):
        optimised = codegen.optimise(llvm_ir, target, list(symbols.values()))
        assembly = assembly_lines(codegen.to_assembly(optimised, target))
    panes = (
        Pane("kina IR", kina_ir),
        Pane("linalg", linalg),
        Pane("kernels", kernels),
        Pane("assembly", assembly),
    )
    traffic = [
        Traffic(signature, moved.get(symbols[name], {}), _needed(signature))
        for name, signature in program.exported.items()
    ]
    linked = program.source
    return Stages(target.name, linked, _tokens(linked), panes, traffic)


def _needed(signature: Signature) -> Terms:
    """The bytes of all that a function is given and returns."""
    total: Counter[Monomial] = Counter()
    for type_ in (*(parameter.type for parameter in signature.parameters), *signature.results):
        size = type_.dtype.storage_bits // 8
        total.update(
            {
                symbols: size * count
                for symbols, count in terms_of(element_count(type_.dims)).items()
            }
        )
    return total


def _tokens(source: Source) -> dict[Place, int]:
    """Every word of the program's files."""
    found: dict[Place, int] = {}
    for _, file in source.parts:
        for token in tokenize(file, Report(file)):
            found[Place(file.name, *file.position(token.start))] = len(token.text)
    return found
