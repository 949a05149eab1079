"""Which functions of a program a library exports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kina.errors import Diagnostic, KinaValueError, Note
from kina.frontend.report import suggest
from kina.frontend.typed import TypedProgram
from kina.types import is_private


def chosen(program: TypedProgram, names: Sequence[str]) -> TypedProgram:
    """The program with nothing but `names` exported, or all that is not private for no names.

    Raises `KinaValueError` for a name that the program cannot export.
    """
    if not names:
        return program
    for name in names:
        if name not in program.exported:
            raise KinaValueError(_refusal(program, name))
    return replace(program, chosen=frozenset(names))


def _refusal(program: TypedProgram, name: str) -> Diagnostic:
    if name in program.signatures and is_private(name):
        help_ = "a leading underscore makes it so: call it something else to export it"
        return Diagnostic(f"--function {name}: the function is private", notes=(Note(help_),))
    known = ", ".join(program.exported)
    help_ = suggest(name, program.exported) or f"it has: {known}"
    message = f"--function {name}: {program.source.name} has no such function"
    return Diagnostic(message, notes=(Note(help_),))
