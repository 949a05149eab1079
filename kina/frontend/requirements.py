"""What each function of a typed program requires of run-time sizes, its callees' needs included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kina.calls import bind
from kina.dims import substitute
from kina.folds import FoldTypes
from kina.frontend.typed import (
    Apply,
    CallFunction,
    Differentiate,
    FoldFunction,
    TypedFunction,
    TypedProgram,
)
from kina.requirements import Requirement, in_caller, of_layers, of_operation, of_types

Requirements = Mapping[str, tuple[Requirement, ...]]


def requirements(program: TypedProgram) -> Requirements:
    """What each function requires, each requirement once, in the order of the program."""
    found: dict[str, tuple[Requirement, ...]] = {}
    functions = {function.signature.name: function for function in program.functions}
    for name, function in functions.items():
        unique: dict[tuple[str, int], Requirement] = {}
        for each in _of(function, functions, found):
            unique.setdefault((each.dim, each.least), each)
        found[name] = tuple(unique.values())
    return found


def _of(
    function: TypedFunction, functions: Mapping[str, TypedFunction], found: Requirements
) -> Iterator[Requirement]:
    yield from of_types(value.type for value in function.values)
    for instruction in function.body:
        if isinstance(instruction, Apply):
            operands = [operand.type for operand in instruction.operands]
            yield from of_operation(instruction.op, instruction.attributes, operands)
        elif isinstance(instruction, CallFunction | Differentiate):
            callee = functions[instruction.callee].signature
            wanted = [parameter.type for parameter in callee.parameters]
            given = [operand.type for operand in instruction.operands[: len(wanted)]]
            sizes = dict(zip((s.name for s in callee.sizes), instruction.sizes, strict=True))
            binding = bind(callee.name, wanted, given, sizes)
            for each in found[instruction.callee]:
                yield from in_caller(each, substitute(each.dim, binding))
        elif isinstance(instruction, FoldFunction):
            parts = ((instruction.x,), instruction.over, instruction.whole)
            types = FoldTypes(*([value.type for value in part] for part in parts))
            yield from of_layers(types.layers())
            callee = functions[instruction.callee].signature
            binding = types.bind(callee.name, [p.type for p in callee.parameters])
            for each in found[instruction.callee]:
                yield from in_caller(each, substitute(each.dim, binding))
