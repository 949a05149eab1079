"""A position in the tokens, with what every part of the parser needs: look, take, expect, fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from kina.errors import Note
from kina.frontend.ast import Identifier
from kina.frontend.foreign import INDEXING, SYNTAX
from kina.frontend.lexer import Token, TokenKind
from kina.frontend.report import Report
from kina.frontend.source import Extent

T = TypeVar("T")


class Panic(Exception):
    """The current statement or item cannot be read further; the error is already reported."""


class Cursor:
    """Reads tokens from left to right."""

    def __init__(self, tokens: list[Token], report: Report) -> None:
        self._tokens = tokens
        self._index = 0
        self._report = report
        self.current = tokens[0]
        """The token that comes next."""
        self.previous = tokens[0]
        """The token taken last."""

    @property
    def at_end(self) -> bool:
        """Whether every token is taken."""
        return self.current.kind is TokenKind.END

    def since(self, start: int) -> Extent:
        """The extent from offset `start` to the end of the token taken last."""
        return Extent(start, self.previous.end)

    def ahead(self, distance: int) -> Token:
        """The token `distance` after the current one, or the end."""
        return self._tokens[min(self._index + distance, len(self._tokens) - 1)]

    def at(self, *texts: str) -> bool:
        """Whether the current token is one of `texts`."""
        return self.current.text in texts

    def at_kind(self, kind: TokenKind) -> bool:
        """Whether the current token is of `kind`."""
        return self.current.kind is kind

    def advance(self) -> Token:
        """Takes the current token; the end stays."""
        token = self.current
        if token.text:
            self.previous = token
            self._index += 1
            self.current = self._tokens[self._index]
        return token

    def skip_to(self, *texts: str) -> bool:
        """Goes to the next token that is one of `texts`, or to the end: then False."""
        index = self._index
        while (text := self._tokens[index].text) not in texts and text:
            index += 1
        self._index = index
        self.current = self._tokens[index]
        self.previous = self._tokens[max(0, index - 1)]
        return not self.at_end

    def accept(self, text: str) -> Token | None:
        """Takes the current token if it is `text`."""
        return self.advance() if self.current.text == text else None

    def expect(self, text: str, where: str = "", opened: Token | None = None) -> Token:
        """Takes `text` or fails; `opened` is the bracket that `text` would close."""
        if self.current.text == text:
            return self.advance()
        notes = []
        if opened is not None:
            notes = [self._report.note(f"`{opened.text}` is opened here", opened.extent)]
        raise self.fail(f"`{text}`{where}", *notes)

    def identifier(self, what: str) -> Identifier:
        """Takes a name or fails: `what` says which one is expected."""
        token = self.current
        if token.kind is not TokenKind.NAME:
            raise self.fail(what)
        self.advance()
        return Identifier(token.extent, token.text)

    def fail(self, expected: str, *notes: Note, help: str | None = None) -> Panic:
        """Reports that `expected` should stand here; the caller raises the result."""
        if not self.at_kind(TokenKind.ERROR):
            message = f"expected {expected}, found {self.current.describe()}"
            help_ = SYNTAX.get(self.current.text) or help or self._foreign(expected)
            self._report.error(message, self.current.extent, notes, help_)
        return Panic()

    def _foreign(self, expected: str) -> str | None:
        """Help for what was read as a name, and for brackets behind a value."""
        is_name = self.previous.kind is TokenKind.NAME
        if self.current.text == "[" and expected.startswith(("an operator", "`)`")):
            return INDEXING
        return SYNTAX.get(self.previous.text) if is_name else None

    def refuse(self, message: str, at: Extent, help: str | None = None) -> Panic:
        """Reports `message` at a place of choice; the caller raises the result."""
        self._report.error(message, at, help=help)
        return Panic()

    def note(self, message: str, at: Extent) -> Note:
        """A note that points at `at`."""
        return self._report.note(message, at)

    def items(self, opened: Token, close: str, read: Callable[[], T]) -> Iterator[T]:
        """The items of a comma list up to `close`, which is taken; a trailing comma is allowed."""
        while self.current.text != close:
            yield read()
            if not self.accept(","):
                break
        self.expect(close, opened=opened)
