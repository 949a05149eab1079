"""Examples beside the code: `// test: f([1, 2]) == [3, 4]`.

    test    = IDENT "(" [ given { "," given } ] ")" outcome
    given   = [ IDENT "=" ] ( value | "random" ":" INT )
    value   = NUMBER | "inf" | "-inf" | "nan" | "true" | "false" | "[" values "]" | record
    record  = "{" IDENT ":" value { "," IDENT ":" value } "}"
    outcome = "==" ( value | "(" value { "," value } ")" ) | "fails" STRING | "hash" STRING

One goes on over further comment lines while a bracket is open.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, NoReturn, TypeVar

from kina.errors import Diagnostic, KinaSyntaxError, Note
from kina.frontend.source import Extent, Source
from kina.frozen import frozen

T = TypeVar("T")

_START = re.compile(r"^[ \t]*//[ \t]*test:", re.MULTILINE)
_SKIP = re.compile(r"(?:[ \t\r] | \n[ \t]*// )*", re.VERBOSE)
_BLANK = re.compile(r"[ \t\r]*")
_TOKEN = re.compile(
    r"""== | [()\[\]{},:=] | "[^"\n]*" | -?inf(?!\w)
      | -?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?!\w) | [A-Za-z_]\w*""",
    re.VERBOSE,
)
_WORDS = ("inf", "-inf", "nan", "true", "false")
_HELP = (
    'a test is written // test: f([1, 2], axis_size=3) == [3, 4], or with fails "part of the '
    'message", or hash "hexadecimal digits"'
)


class Random(NamedTuple):
    """`random:SEED`: what `kina run` would draw."""

    seed: int


Value = str | list["Value"] | dict[str, "Value"]
"""A number as written, a list, or the fields of a record."""


class Equal(NamedTuple):
    """What the results are, to the digits written."""

    results: list[Value]


class Fails(NamedTuple):
    """A part of the error's message."""

    message: str


class Hash(NamedTuple):
    """The SHA-256 of the results' bytes, or its beginning."""

    digits: str


Outcome = Equal | Fails | Hash


@frozen(slots=True)
class Expectation:
    """One test of a function."""

    extent: Extent
    function: str
    positional: list[Value | Random]
    named: dict[str, Value | Random]
    outcome: Outcome


def expectations(source: Source) -> Iterator[Expectation]:
    """The tests of a file, in order; raises `KinaSyntaxError` for one that cannot be read."""
    for start in _START.finditer(source.text):
        yield _Reader(source, start.end()).test()


class _Reader:
    def __init__(self, source: Source, start: int) -> None:
        self._source = source
        self._place = start
        self._depth = 0
        self._end = start

    def test(self) -> Expectation:
        start = self._skip()
        function = self._name("the name of a function")
        self._expect("(")
        positional: list[Value | Random] = []
        named: dict[str, Value | Random] = {}
        for name, value in self._until(")", self._given):
            if name is None and named:
                self._fail("a named argument: positional ones come first")
            if name is None:
                positional.append(value)
            else:
                named[name] = value
        outcome = self._outcome()
        extent = Extent(start, self._end)
        if self._peek():
            self._fail("the end of the line")
        return Expectation(extent, function, positional, named, outcome)

    # -- Tokens.

    def _skip(self) -> int:
        skip = _SKIP if self._depth else _BLANK
        match = skip.match(self._source.text, self._place)
        assert match is not None
        self._place = match.end()
        return self._place

    def _peek(self) -> str:
        """The next token; empty at the end of the test."""
        at = self._skip()
        match = _TOKEN.match(self._source.text, at)
        if match is not None:
            return match[0]
        return "" if self._source.text[at : at + 1] in ("", "\n") else self._source.text[at]

    def _take(self) -> str:
        text = self._peek()
        self._place += len(text)
        self._end = self._place
        self._depth += (text in "([{") - (text in ")]}") if text else 0
        return text

    def _accept(self, text: str) -> bool:
        found = self._peek() == text
        if found:
            self._take()
        return found

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            self._fail(f"`{text}`")

    def _fail(self, wanted: str) -> NoReturn:
        found = self._peek()
        shown = f"`{found}`" if found else "the end of the line"
        span = self._source.span(self._place, self._place + max(1, len(found)))
        message = f"expected {wanted}, found {shown}"
        raise KinaSyntaxError(Diagnostic(message, span, (Note(_HELP),)))

    # -- Grammar.

    def _name(self, what: str) -> str:
        if not self._peek().isidentifier():
            self._fail(what)
        return self._take()

    def _until(self, closing: str, item: Callable[[], T]) -> list[T]:
        """Items with commas between them, after the opening bracket."""
        found: list[T] = []
        while not self._accept(closing):
            found.append(item())
            if self._peek() != closing:
                self._expect(",")
        return found

    def _given(self) -> tuple[str | None, Value | Random]:
        name = None
        if self._peek().isidentifier() and self._peek() not in (*_WORDS, "random"):
            name = self._take()
            self._expect("=")
        return name, self._random() if self._peek() == "random" else self._value()

    def _random(self) -> Random:
        self._take()
        self._expect(":")
        if not self._peek().isdecimal():
            self._fail("a seed such as random:0")
        return Random(int(self._take()))

    def _value(self) -> Value:
        if self._accept("["):
            return self._until("]", self._value)
        if self._accept("{"):
            return dict(self._until("}", self._field))
        text = self._peek()
        if text not in _WORDS and not text.lstrip("-")[:1].isdecimal():
            self._fail("a value such as 1.5, [1, 2] or {w: [1, 2]}")
        return self._take()

    def _field(self) -> tuple[str, Value]:
        name = self._name("the name of a field")
        self._expect(":")
        return name, self._value()

    def _outcome(self) -> Outcome:
        if self._accept("=="):
            many = self._accept("(")
            return Equal(self._until(")", self._value) if many else [self._value()])
        word = self._peek()
        if word not in ("fails", "hash"):
            self._fail("`==`, `fails` or `hash`")
        self._take()
        if not self._peek().startswith('"'):
            self._fail("a text in quotes")
        text = self._take()[1:-1]
        return Fails(text) if word == "fails" else Hash(text)
