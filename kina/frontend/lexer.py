"""From text to tokens.

A piece of text that is no token is reported here and becomes one `ERROR` token, which the parser
steps over without a second message.
"""

from __future__ import annotations

import re
import unicodedata
from enum import Enum
from typing import NamedTuple

from kina.frontend.report import Report
from kina.frontend.source import Extent, Source


class TokenKind(Enum):
    """What a token is."""

    NAME = "name"
    NUMBER = "number"
    KEYWORD = "reserved word"
    SYMBOL = "symbol"
    ERROR = "error"
    END = "end"


class Token(NamedTuple):
    """One token and its place."""

    kind: TokenKind
    text: str
    start: int
    end: int

    @property
    def extent(self) -> Extent:
        """Where the token stands."""
        return Extent(self.start, self.end)

    def describe(self) -> str:
        """The token as messages name it."""
        if self.kind is TokenKind.END:
            return "the end of the file"
        if self.kind is TokenKind.SYMBOL:
            return f"`{self.text}`"
        return f"{self.kind.value} `{self.text}`"


KEYWORDS = frozenset({"let", "in", "fn", "tensor", "reverseMode"})

_TOKEN = re.compile(
    r"""
      (?P<SKIP>[ \t\r\n]+ | //[^\n]*)
    | (?P<NUMBER>[0-9]+ (?: \.[0-9]+ )? (?: [eE][+-]?[0-9]+ )? (?!\w) (?!\.(?![A-Za-z_])) )
    | (?P<NAME>[A-Za-z_][A-Za-z0-9_]* (?!\w))
    | (?P<BAD_NUMBER>[0-9]\w* (?: \.\w* )* | \.[0-9]\w*)
    | (?P<BAD_NAME>\w+)
    | (?P<COMMENT>/\*)
    | (?P<STRING>"[^"\n]*"? | '[^'\n]*'?)
    | (?P<SYMBOL>-> | [-+*/(){}\[\]<>,:=.@])
    | (?P<OTHER>.)
    """,
    re.VERBOSE | re.DOTALL,
)

_LOOKALIKES = {
    "\u2212": "-", "\u2013": "-", "\u2014": "-", "\u00d7": "*", "\u00b7": "*", "\u00f7": "/",
    "\u2192": "->", "\u00a0": "a space",
}  # fmt: skip
_FOREIGN = {
    ";": "a binding ends with `in`",
    "#": "a comment starts with `//`",
    "!": "a comment starts with `//`",
    "%": "there is no remainder in Kina",
    "^": "there is no power in Kina",
}


def tokenize(source: Source, report: Report) -> list[Token]:
    """The tokens of `source`, an `END` token last; what is no token goes to `report`."""
    tokens: list[Token] = []
    for match in _TOKEN.finditer(source.text):
        group = match.lastgroup
        assert group is not None
        if group == "SKIP":
            continue
        start, end = match.span()
        kind = _KINDS.get(group, TokenKind.ERROR)
        if kind is TokenKind.ERROR:
            message, help_ = _explain(group, match.group())
            report.error(message, Extent(start, end), help=help_)
        elif kind is TokenKind.NAME and match.group() in KEYWORDS:
            kind = TokenKind.KEYWORD
        tokens.append(Token(kind, match.group(), start, end))
    end = tokens[-1].end if tokens else 0
    tokens.append(Token(TokenKind.END, "", end, end))
    return tokens


_KINDS = {"NAME": TokenKind.NAME, "NUMBER": TokenKind.NUMBER, "SYMBOL": TokenKind.SYMBOL}


def _explain(group: str, text: str) -> tuple[str, str | None]:
    if group == "BAD_NUMBER":
        return f"`{text}` is not a number", _number_help(text)
    if group == "BAD_NAME":
        return f"`{text}` is not a name: names are ASCII letters, digits and `_`", None
    if group == "COMMENT":
        return "`/*` does not start a comment", "a comment starts with `//` and ends with its line"
    if group == "STRING":
        return "there are no strings in Kina", "names and dtypes are written without quotes"
    return _explain_character(text)


def _number_help(text: str) -> str | None:
    if text.startswith("."):
        return f"write a digit before the point: 0{text}"
    if text.endswith("."):
        return f"write a digit after the point: {text}0"
    return "numbers are decimal: 12, 0.5, 1.5e-3"


def _explain_character(character: str) -> tuple[str, str | None]:
    shown = f"`{character}`" if character.isprintable() else "character"
    name = unicodedata.name(character, "unnamed")
    code = "" if character.isascii() and character.isprintable() else f" U+{ord(character):04X}"
    message = f"unexpected {shown}{code}" + (f" ({name})" if code else "")
    if character in _LOOKALIKES:
        meant = _LOOKALIKES[character]
        return message, f"write {meant}" if meant == "a space" else f"did you mean `{meant}`?"
    return message, _FOREIGN.get(character)
