"""The front end in one call: text to typed program, or every error at once."""

from __future__ import annotations

import gc
from collections.abc import Generator
from contextlib import contextmanager

from kina.errors import KinaSyntaxError, KinaTypeError
from kina.frontend.lexer import tokenize
from kina.frontend.parser import parse
from kina.frontend.report import Report
from kina.frontend.source import Source
from kina.frontend.typecheck import typecheck
from kina.frontend.typed import TypedProgram


def check(source: Source) -> TypedProgram:
    """The typed program of `source`.

    Raises `KinaSyntaxError` with every place that does not follow the grammar, else
    `KinaTypeError` with every broken type rule.
    """
    with _uncollected():
        return _check(source)


@contextmanager
def _uncollected() -> Generator[None]:
    """Tokens and trees hold no cycles: looking for garbage among them would double the time."""
    collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collected:
            gc.enable()


def _check(source: Source) -> TypedProgram:
    report = Report(source)
    program = parse(tokenize(source, report), report)
    if report.failed:
        raise KinaSyntaxError(*report.diagnostics())
    typed = typecheck(program, report)
    if report.failed:
        raise KinaTypeError(*report.diagnostics())
    return typed
