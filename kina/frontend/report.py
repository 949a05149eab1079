"""Collects the errors of one run, so that several show at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

from kina.errors import Diagnostic, Note
from kina.frontend.source import Extent, Source

MAX_ERRORS = 50


class Report:
    """The errors found in one source text."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._found: dict[tuple[int, str], Diagnostic] = {}
        self._left = 0

    def error(
        self, message: str, at: Extent, notes: Iterable[Note] = (), help: str | None = None
    ) -> None:
        """Adds an error at `at`; `help` becomes a note without a place."""
        if len(self._found) >= MAX_ERRORS:
            self._left += 1
            return
        advice = (Note(help),) if help else ()
        diagnostic = Diagnostic(message, self.source.span(*at), (*notes, *advice))
        self._found.setdefault((at.start, message), diagnostic)

    def note(self, message: str, at: Extent) -> Note:
        """A note that points at another place of the same text."""
        return Note(message, self.source.span(*at))

    @property
    def failed(self) -> bool:
        """Whether anything was reported."""
        return bool(self._found)

    def diagnostics(self) -> Sequence[Diagnostic]:
        """The errors in the order of the text; past `MAX_ERRORS`, only how many more."""
        ordered = [self._found[key] for key in sorted(self._found)]
        if not self._left:
            return ordered
        return [*ordered, Diagnostic(f"{self.source.name}: and {self._left} more errors")]


def suggest(name: str, candidates: Iterable[str]) -> str | None:
    """`did you mean …?` for the candidate that `name` seems to be a misspelling of."""
    by_folded = {candidate.casefold(): candidate for candidate in candidates}
    close = get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    return f"did you mean `{by_folded[close[0]]}`?" if close else None
