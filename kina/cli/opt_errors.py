"""What goes wrong in `kina-opt`, xDSL's own exceptions included, as diagnostics with a place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.utils import lexer
from xdsl.utils.exceptions import (
    DiagnosticException,
    InvalidIRException,
    MultipleSpansParseError,
    ParseError,
    UnregisteredConstructException,
)

from kina.errors import Diagnostic, KinaError, Note, Span
from kina.frontend.mlir_text import too_much
from kina.frontend.source import Source
from kina.frontend.xdsl_frontend import ProgramError
from kina.frozen import frozen
from kina.passes.lowering.places import span_of

_WORDED = (DiagnosticException, InvalidIRException, UnregisteredConstructException)
"""Exceptions whose text is meant for people."""

_DEBUG = Note("KINA_DEBUG=1 in the environment shows where in the compiler this happened")


@frozen(slots=True)
class Stage:
    """What the driver is doing, and on which module."""

    name: str
    """`options`, `read`, `verify`, `print`, `write` or the name of a pass."""
    module: ModuleOp | None = None
    places: dict[Operation, lexer.Span[str]] = field(
        default_factory=dict[Operation, lexer.Span[str]]
    )
    """Where the operations that were read stand."""


def explain(error: BaseException, stage: Stage) -> Sequence[Diagnostic]:
    """What to tell about `error`, which was raised in `stage`."""
    if isinstance(error, ProgramError):
        return [_shifted(problem, error.span.line_offset) for problem in error.problem.diagnostics]
    if isinstance(error, ParseError):
        return [_parse_error(error)]
    if isinstance(error, KinaError):
        first, *others = error.diagnostics
        place = first.span or _place(_operation_of(error, stage), stage)
        return [replace(first, span=place), *others]
    if stage.module is None:
        return [Diagnostic(str(error) or type(error).__name__)]
    return [_failure(error, stage, stage.module)]


def _shifted(problem: Diagnostic, lines: int) -> Diagnostic:
    """A diagnostic about a part of a file that starts after so many lines."""
    notes = tuple(replace(note, span=_moved(note.span, lines)) for note in problem.notes)
    return replace(problem, span=_moved(problem.span, lines), notes=notes)


def _moved(span: Span | None, lines: int) -> Span | None:
    return None if span is None else replace(span, line=span.line + lines)


def _parse_error(error: ParseError) -> Diagnostic:
    notes: tuple[Note, ...] = ()
    if isinstance(error, MultipleSpansParseError):
        notes = tuple(Note(text or error.ref_text or "", _span(at)) for at, text in error.refs)
    return Diagnostic(error.msg, _span(error.span), notes)


def _span(place: lexer.Span[str] | lexer.Span[bytes]) -> Span:
    content = place.input.content
    text = content if isinstance(content, str) else content.decode("utf-8", "replace")
    span = Source(place.input.name, text).span(place.start, place.end)
    return replace(span, line=span.line + place.line_offset)


def _failure(error: BaseException, stage: Stage, module: ModuleOp) -> Diagnostic:
    """What a pass, the verifier or the printer raised."""
    if isinstance(error, RecursionError | MemoryError):
        return Diagnostic(f"{stage.name}: {too_much(error)}", _place(module, stage))
    if stage.name == "verify" and (found := _unverified(module)) is not None:
        operation, error = found
        said = str(error) if isinstance(error, _WORDED) else f"{operation.name}: {_said(error)}"
    else:
        operation = _operation_of(error, stage)
        said = f"{stage.name}: {_said(error)}"
    notes = () if isinstance(error, _WORDED) else (_DEBUG,)
    return Diagnostic(said, _place(operation, stage), notes)


def _said(error: BaseException) -> str:
    if isinstance(error, _WORDED):
        return str(error)
    return f"cannot handle this operation: {type(error).__name__}: {error}".removesuffix(": ")


def _unverified(module: ModuleOp) -> tuple[Operation, Exception] | None:
    """The first operation that does not verify, and why: the innermost, as xDSL looks at them."""
    for operation in module.walk(region_first=True):
        try:
            operation.verify(verify_nested_ops=False)
        except Exception as reason:
            return operation, reason
    return None


def _operation_of(error: BaseException, stage: Stage) -> Operation | None:
    """The operation that the code was at which raised `error`: the innermost that has a place."""
    found: Operation | None = stage.module
    trace = error.__traceback__
    while trace is not None:
        for value in trace.tb_frame.f_locals.values():
            if isinstance(value, Operation) and _place(value, stage) is not None:
                found = value
        trace = trace.tb_next
    return found


def _place(operation: Operation | None, stage: Stage) -> Span | None:
    """Where an operation stands, or else what it is in."""
    while operation is not None:
        if (span := span_of(operation.location)) is not None:
            return span
        if (read := stage.places.get(operation)) is not None:
            return _span(read)
        if isinstance(operation, FuncOp) and (first := _of_name(operation, stage)) is not None:
            return _span(first)
        operation = operation.parent_op()
    return None


def _of_name(function: FuncOp, stage: Stage) -> lexer.Span[str] | None:
    """Where the function was read that a pass has made anew."""
    for operation, place in stage.places.items():
        if isinstance(operation, FuncOp) and operation.sym_name == function.sym_name:
            return place
    return None
