"""What each function of a typed program requires of run-time sizes, its callees' needs included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from kina.dims import Dim, substitute
from kina.frontend.typed import (
    Apply,
    CallFunction,
    Constant,
    Differentiate,
    FoldFunction,
    Instruction,
    TakeSize,
    TypedFunction,
    TypedProgram,
)
from kina.rules.calls import bind
from kina.rules.folds import FoldTypes
from kina.rules.requirements import (
    Requirement,
    in_caller,
    of_layers,
    of_number,
    of_operation,
    of_types,
)

if TYPE_CHECKING:
    from kina.frontend.report import Report

Requirements = Mapping[str, tuple[Requirement, ...]]
_Call = CallFunction | Differentiate | FoldFunction


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


def report_broken(program: TypedProgram, report: Report) -> None:
    """Report calls whose sizes are known and do not do."""
    found = requirements(program)
    functions = {function.signature.name: function for function in program.functions}
    for function in program.functions:
        for call in function.body:
            if not isinstance(call, _Call):
                continue
            for each, dim in _called(call, functions, found):
                if isinstance(dim, int) and dim < each.least:
                    callee = functions[call.callee]
                    note = report.note(f"{callee.signature} is defined here", callee.extent)
                    report.error(f"{call.callee}: {each.text}", call.extent, [note])


def _of(
    function: TypedFunction, functions: Mapping[str, TypedFunction], found: Requirements
) -> Iterator[Requirement]:
    # Most values have one of a few types, and most operations have no axis.
    yield from of_types({id(value.type): value.type for value in function.values}.values())
    for instruction in function.body:
        if isinstance(instruction, Constant):
            continue
        if isinstance(instruction, Apply) and "axis" not in instruction.attributes:
            continue
        yield from _of_instruction(instruction)
        if isinstance(instruction, _Call):
            for each, dim in _called(instruction, functions, found):
                yield from in_caller(each, dim)


def _of_instruction(instruction: Instruction) -> Iterator[Requirement]:
    """What it needs itself."""
    match instruction:
        case Apply():
            operands = [operand.type for operand in instruction.operands]
            yield from of_operation(instruction.op, instruction.attributes, operands)
        case TakeSize():
            from kina.frontend.exact import bounds

            yield from of_number(instruction.size, instruction.dtype, *bounds(instruction.dtype))
        case FoldFunction():
            yield from of_layers(_fold_types(instruction).layers())
        case _:
            return


def _called(
    call: _Call, functions: Mapping[str, TypedFunction], found: Requirements
) -> Iterator[tuple[Requirement, Dim]]:
    """What the callee requires, and its size at this call."""
    if not found[call.callee]:
        return
    binding = _binding(call, functions[call.callee])
    for each in found[call.callee]:
        yield each, substitute(each.dim, binding)


def _binding(call: _Call, callee: TypedFunction) -> Mapping[str, Dim]:
    """What the callee's symbols are in the caller."""
    signature = callee.signature
    wanted = [parameter.type for parameter in signature.parameters]
    if isinstance(call, FoldFunction):
        return _fold_types(call).bind(signature.name, wanted)
    given = [operand.type for operand in call.operands[: len(wanted)]]
    sizes = dict(zip((size.name for size in signature.sizes), call.sizes, strict=True))
    return bind(signature.name, wanted, given, sizes)


def _fold_types(fold: FoldFunction) -> FoldTypes:
    parts = ((fold.x,), fold.over, fold.whole)
    return FoldTypes(*([value.type for value in part] for part in parts))
