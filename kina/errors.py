"""Diagnostics and the error classes that users of Kina meet.

A `Diagnostic` says where something is wrong, what was expected, what came and how to fix it.
There is one renderer (`Diagnostic.render`), so every part of Kina reports in the same form:

    examples/bad.kina:5:31: error: take_along_axis: indices have shape [1, 8], expected [1, 4]
      5 |   logp.take_along_axis(targets, axis=2)
        |                        ^~~~~~~
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from kina.frozen import frozen

TAB_WIDTH = 4
MAX_SHOWN = 160
"""Characters of a source line that a message shows: of a longer one, those around the place."""


@frozen(slots=True)
class Span:
    """A piece of one source line: `line` and `column` count from 1, in characters."""

    file: str
    line: int
    column: int
    width: int
    line_text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    @property
    def has_text(self) -> bool:
        """False for a place whose source cannot be read any more (empty text and width 0)."""
        return bool(self.line_text or self.width)

    def render(self) -> str:
        """The source line, or a piece of a long one, with a caret under the span."""
        gutter = f"  {self.line} | "
        first = max(0, self.column - 1 - MAX_SHOWN // 2) if len(self.line_text) > MAX_SHOWN else 0
        last = first + MAX_SHOWN
        cut_left, cut_right = "…" * (first > 0), "…" * (last < len(self.line_text))
        before = (cut_left + self.line_text[first : self.column - 1]).expandtabs(TAB_WIDTH)
        shown = (cut_left + self.line_text[first:last]).expandtabs(TAB_WIDTH) + cut_right
        marks = "^" + "~" * (min(max(1, self.width), last - self.column + 1) - 1)
        return f"{gutter}{shown}\n{' ' * (len(gutter) - 2)}| {' ' * len(before)}{marks}"


@frozen(slots=True)
class Note:
    """A second remark of a diagnostic: another place, or (without a span) a way to fix it."""

    message: str
    span: Span | None = None

    def render(self) -> str:
        """`file:line:col: note: …` with its line, or `help: …` when no place belongs to it."""
        if self.span is None:
            return f"  help: {self.message}"
        return f"{self.span}: note: {self.message}\n{self.span.render()}"


class Severity(StrEnum):
    """Whether a remark stops the compiler."""

    ERROR = "error"
    WARNING = "warning"


@frozen(slots=True)
class Diagnostic:
    """One error or warning: its message, its place if it has one, and notes."""

    message: str
    span: Span | None = None
    notes: tuple[Note, ...] = ()
    severity: Severity = Severity.ERROR

    def render(self) -> str:
        """The text a person reads, without a newline at its end."""
        place = f"{self.span}: " if self.span is not None else ""
        lines = [f"{place}{self.severity}: {self.message}"]
        if self.span is not None and self.span.has_text:
            lines.append(self.span.render())
        lines.extend(note.render() for note in self.notes)
        return "\n".join(lines)


class KinaError(Exception):
    """The root of every error that Kina raises on purpose; holds one or more diagnostics."""

    def __init__(self, *problems: Diagnostic | str) -> None:
        self.diagnostics = tuple(
            Diagnostic(problem) if isinstance(problem, str) else problem for problem in problems
        )
        super().__init__(*self.diagnostics)

    def __str__(self) -> str:
        if len(self.diagnostics) == 1 and self.diagnostics[0].span is None:
            only = self.diagnostics[0]
            return "\n".join([only.message, *(note.render() for note in only.notes)])
        return render_all(self.diagnostics)


class KinaSyntaxError(KinaError):
    """A `.kina` text that does not follow the grammar."""


class KinaTypeError(KinaError, TypeError):
    """A program that breaks a type rule, or an argument of the wrong dtype."""


class KinaValueError(KinaError, ValueError):
    """An argument of the right type with a wrong shape, layout or value."""


class KinaIndexError(KinaError, IndexError):
    """An index outside `0 .. size-1`, found by a checked operation at run time."""


class KinaToolchainError(KinaError, RuntimeError):
    """A compiler tool that is missing, too old, or failed."""


class KinaWarning(UserWarning):
    """A program that compiles and may not mean what its author thinks; holds one diagnostic."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(diagnostic)

    def __str__(self) -> str:
        return self.diagnostic.render()


def counted(number: int, word: str) -> str:
    """`1 argument`, `2 arguments`."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def render_all(diagnostics: Iterable[Diagnostic]) -> str:
    """All diagnostics, one after the other."""
    return "\n".join(diagnostic.render() for diagnostic in diagnostics)
