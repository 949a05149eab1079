"""Collects the errors and warnings of one run, so that several show at once."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import chain, islice

from kina.errors import Diagnostic, Note, Severity
from kina.frontend.foreign import WORDS
from kina.frontend.source import Extent, Source

MAX_ERRORS = 50
"""Of more errors, and of more warnings, only the number is told."""


_MOST_CANDIDATES = 1000
"""Names among which a misspelt one is looked for."""


class Report:
    """The errors and warnings found in one source text."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._errors = _Found(source, Severity.ERROR)
        self._warnings = _Found(source, Severity.WARNING)

    def error(
        self, message: str, at: Extent, notes: Iterable[Note] = (), help: str | None = None
    ) -> None:
        """Adds an error at `at`; `help` becomes a note without a place."""
        self._errors.add(message, at, notes, help)

    def warn(self, message: str, at: Extent, help: str | None = None) -> None:
        """Adds a warning: the program has a meaning, but hardly the one that is meant."""
        self._warnings.add(message, at, (), help)

    def leave_out(self, count: int) -> None:
        """Counts errors past those that are shown, without saying what they are."""
        self._errors.left += count

    @property
    def full(self) -> bool:
        """Whether a further error would only be counted: its help need not be found."""
        return self._errors.full

    def suggest(self, name: str, *candidates: Iterable[str]) -> str | None:
        """`suggest` for an error that will be shown; of a huge program, not all candidates."""
        if self.full:
            return None
        foreign = WORDS.get(name)
        if foreign is not None:
            return foreign
        return suggest(name, islice(chain.from_iterable(candidates), _MOST_CANDIDATES))

    def note(self, message: str, at: Extent) -> Note:
        """A note that points at another place of the same text, if its error will be shown."""
        return Note(message, None if self.full else self.source.span(*at))

    @property
    def failed(self) -> bool:
        """Whether an error was reported."""
        return not self._errors.empty

    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """The errors in the order of the text; past `MAX_ERRORS`, only how many more."""
        return self._errors.ordered()

    def warnings(self) -> tuple[Diagnostic, ...]:
        """The warnings, likewise."""
        return self._warnings.ordered()


class _Found:
    """Diagnostics of one severity, each place and message once."""

    def __init__(self, source: Source, severity: Severity) -> None:
        self._source = source
        self._severity = severity
        self._found: dict[tuple[int, str], Diagnostic] = {}
        self.left = 0

    @property
    def empty(self) -> bool:
        return not self._found

    @property
    def full(self) -> bool:
        return len(self._found) >= MAX_ERRORS

    def add(self, message: str, at: Extent, notes: Iterable[Note], help: str | None) -> None:
        if self.full:
            self.left += 1
            return
        advice = (Note(help),) if help else ()
        span = self._source.span(*at)
        diagnostic = Diagnostic(message, span, (*notes, *advice), self._severity)
        self._found.setdefault((at.start, message), diagnostic)

    def ordered(self) -> tuple[Diagnostic, ...]:
        ordered = tuple(self._found[key] for key in sorted(self._found))
        if not self.left:
            return ordered
        plural = "s" if self.left > 1 else ""
        message = f"{self._source.name}: and {self.left} more {self._severity}{plural}"
        return (*ordered, Diagnostic(message, severity=self._severity))


def suggest(name: str, candidates: Iterable[str]) -> str | None:
    """`did you mean …?` for the candidate that `name` seems to be a misspelling of."""

    by_folded = {candidate.casefold(): candidate for candidate in candidates}
    close = get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    return f"did you mean `{by_folded[close[0]]}`?" if close else None
