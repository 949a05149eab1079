"""A checked program to the MLIR text that the tools take; the only part that loads xDSL."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from kina.backend import pipeline
from kina.backend.contents import check_contents, is_on
from kina.backend.generic_text import generic_text
from kina.backend.index_ranges import index_ranges
from kina.backend.lowered import Lowered
from kina.backend.metadata import CompiledFunction
from kina.backend.options import Options
from kina.backend.targets import TARGETS
from kina.dialects.requires import requirements_of
from kina.dims import Terms
from kina.frontend.irgen import generate
from kina.frontend.source import Source
from kina.frontend.typed import TypedProgram
from kina.machine import MACHINES, USUAL
from kina.passes.export_c import read_aliases
from kina.passes.inline_calls import USES, callee_name
from kina.passes.limits import check_program
from kina.passes.schedule_cpu import KERNELS
from kina.passes.scheduling.held import TAKE
from kina.passes.scheduling.moved import MOVED, moved_of
from kina.passes.scheduling.team import RUN
from kina.types import Signature
from kina.universe import PASSES

Moved = Mapping[str, Terms]
"""The bytes that each C function moves, as a polynomial of its symbols."""

PART_SIZE = 64
"""Operations of kina IR in a part of a program, if its functions are that small."""


def kina_module(source: Source) -> tuple[ModuleOp, dict[str, Signature]]:
    """The kina IR of a program and its signatures; all of a program's errors are raised at once."""
    from kina.frontend.check import check

    program = check(source)
    return generate(program), program.signatures


def to_linalg(module: ModuleOp) -> None:
    """kina IR to linalg, in place."""
    _apply(module, pipeline.INLINE + pipeline.TO_LINALG)
    module.verify()


def lower(program: TypedProgram, options: Options) -> Lowered:
    """The whole way from a typed program to C functions and kernels, places of the source shown."""
    (whole,) = Lowering(program, sys.maxsize).parts(options, locations=True)
    return whole


class Lowering:
    """A typed program on its way to C functions on linalg, in parts of a few functions.

    Functions that call each other are in one part, so each part goes its own way through the
    tools: while one is compiled, the next is lowered.
    """

    def __init__(self, program: TypedProgram, part_size: int = PART_SIZE) -> None:
        self._signatures = program.signatures
        self._symbols = program.symbols
        module = generate(program)
        _apply(module, pipeline.INLINE)
        module.verify()
        _erase_unused(module)
        check_program(_functions(module).values())
        self._module = module
        self._parts = list(_parts(module, part_size))
        self.count = len(self._parts)
        """How many parts there are."""

    @property
    def kina_ir(self) -> str:
        """For the reference."""
        return _shown(self._module)

    def parts(
        self, options: Options, targets: Sequence[str] = (), *, locations: bool = False
    ) -> Iterator[Lowered]:
        """The program's parts in order, each lowered when it is asked for.

        A part comes once for each of `targets`, or for that of the options. Nothing that compiles
        it looks at places of the source.
        """
        chosen = [replace(options, target=target) for target in targets] or [options]
        for functions in self._parts:
            module = self._for_all(functions, options)
            for each in chosen:
                own = module if each is chosen[-1] else module.clone()
                yield self._lower(functions, own, each, locations)

    def module(self, options: Options) -> tuple[ModuleOp, Moved]:
        """The whole program, lowered, and what its functions move, by their symbols."""
        module = self._for_all([function for part in self._parts for function in part], options)
        _for_machine(module, options)
        module.attributes.pop(KERNELS, None)
        moved = module.attributes.pop(MOVED, None)
        return module, moved_of(moved) if isinstance(moved, DictionaryAttr) else {}

    def _lower(
        self, functions: Sequence[FuncOp], module: ModuleOp, options: Options, locations: bool
    ) -> Lowered:
        _for_machine(module, options)
        kernels = _strings(module.attributes.pop(KERNELS, None))
        module.attributes.pop(MOVED, None)
        exported = _functions(module)
        compiled = tuple(
            self._compiled(function, exported, options)
            for function in functions
            if not _is_private(function)
        )
        code = _shown(module) if locations else generic_text(module)
        return Lowered(code, kernels, compiled, TAKE in exported)

    def _for_all(self, functions: Sequence[FuncOp], options: Options) -> ModuleOp:
        """The C functions, as they are on every machine."""
        module = ModuleOp([function.clone() for function in functions])
        _apply(module, pipeline.FOR_ALL, prefix=options.prefix, fast=options.fast)
        return module

    def _compiled(
        self, function: FuncOp, exported: Mapping[str, FuncOp], options: Options
    ) -> CompiledFunction:
        signature = self._signatures[function.sym_name.data]
        symbol = options.prefix + self._symbols[signature.name]
        signature = replace(signature, aliases=read_aliases(exported[symbol]))
        messages = _strings(exported[symbol].attributes.get("status_messages"))
        ranges = index_ranges(function)
        return CompiledFunction(
            signature,
            options.prefix + signature.name,
            symbol,
            messages,
            ranges,
            requirements_of(function),
            threads=RUN in exported,
        )


def _shown(module: ModuleOp) -> str:
    from kina.backend.ir_text import show

    return show(module, locations=True)


def _for_machine(module: ModuleOp, options: Options) -> None:
    """C functions to kernels of the target, in place."""
    target = TARGETS[options.target]
    machine = MACHINES[target.model]
    _apply(
        module,
        pipeline.for_machine(fast=options.fast, machine=machine),
        f16=not machine.has_halves,
        machine=target.model,
        threads=options.has_team,
    )


def _is_private(function: FuncOp) -> bool:
    visibility = function.sym_visibility
    return visibility is not None and visibility.data == "private"


def _erase_unused(module: ModuleOp) -> None:
    """A function that is not exported is only there for those that call it."""
    called: set[str] = set()
    for function in reversed(list(_functions(module).values())):
        if _is_private(function) and function.sym_name.data not in called:
            function.detach()
            function.erase()
        else:
            called.update(callee_name(op) for op in function.walk() if isinstance(op, USES))


def _parts(module: ModuleOp, size: int) -> Iterator[list[FuncOp]]:
    """Groups of functions, together of at least `size` operations, but for the last."""
    part: list[FuncOp] = []
    operations = 0
    for group in _groups(_functions(module)):
        part += group
        operations += sum(1 for function in group for _ in function.walk())
        if operations >= size:
            yield part
            part, operations = [], 0
    if part:
        yield part


def _groups(functions: Mapping[str, FuncOp]) -> list[list[FuncOp]]:
    """The functions in order, those together that calls connect."""
    groups = {name: [function] for name, function in functions.items()}
    for name, function in functions.items():
        for op in function.walk():
            if isinstance(op, USES) and (other := groups[callee_name(op)]) is not groups[name]:
                small, large = sorted((other, groups[name]), key=len)
                large += small
                groups.update((member.sym_name.data, large) for member in small)
    return list({id(group): group for group in groups.values()}.values())


def _functions(module: ModuleOp) -> dict[str, FuncOp]:
    return {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}


def load_passes() -> list[type[ModulePass]]:
    """What every program goes through, loaded."""
    usual = pipeline.to_code(fast=True, machine=MACHINES[USUAL])
    return [PASSES[name] for name in pipeline.INLINE + usual]


def _apply(module: ModuleOp, names: Sequence[str], **options: str | bool) -> None:
    """Run passes, each with those of the options that it has."""
    context, checked = Context(), is_on()
    for name in names:
        pass_type = PASSES[name]
        accepted = {key: options[key] for key in options if key in pass_type.__dataclass_fields__}
        pass_type(**accepted).apply(context, module)
        if checked:
            check_contents(module, name)


def _strings(attribute: Attribute | None) -> tuple[str, ...]:
    if attribute is None:
        return ()
    return tuple(item.data for item in cast(ArrayAttr[StringAttr], attribute))
