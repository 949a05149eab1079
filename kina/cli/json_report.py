"""`kina check --json`: what it found, for other programs; docs/language.md has the schema."""

from __future__ import annotations

from typing import Any

from kina.errors import Diagnostic, Note, Span
from kina.frontend.typed import TypedProgram
from kina.types import is_private

SCHEMA = 1
"""Grows when a field changes or goes; new fields may come."""


def file_report(
    name: str, program: TypedProgram | None, diagnostics: tuple[Diagnostic, ...]
) -> dict[str, Any]:
    """What was found in one program; None stands for one with errors."""
    own = {} if program is None else program.own_signatures
    functions = [
        {"name": function, "type": str(signature), "private": is_private(function)}
        for function, signature in own.items()
    ]
    return {
        "file": name,
        "ok": program is not None,
        "diagnostics": [_diagnostic(each) for each in diagnostics],
        "functions": functions,
    }


def _diagnostic(found: Diagnostic) -> dict[str, Any]:
    severity = str(found.severity)
    notes = [_note(note) for note in found.notes]
    return {"severity": severity, "message": found.message, **_place(found.span), "notes": notes}


def _note(note: Note) -> dict[str, Any]:
    kind = "help" if note.span is None else "note"
    return {"kind": kind, "message": note.message, **_place(note.span)}


def _place(span: Span | None) -> dict[str, Any]:
    """Line and column from 1, in characters; nothing where no place is to blame."""
    if span is None:
        return {}
    return {"file": span.file, "line": span.line, "column": span.column, "length": span.width}
