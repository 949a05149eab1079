"""From text to tokens.

A piece of text that is no token is reported here and becomes one `ERROR` token, which the parser
steps over without a second message.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from kina.frontend.report import Report
from kina.frontend.source import IMPORT, Extent, Source


class TokenKind(Enum):
    """What a token is."""

    NAME = "name"
    NUMBER = "number"
    KEYWORD = "reserved word"
    SYMBOL = "symbol"
    PATH = "path"
    ERROR = "error"
    END = "end"


class Token(NamedTuple):
    """One token and its place."""

    kind: TokenKind
    text: str
    start: int

    @property
    def end(self) -> int:
        """The offset after its last character."""
        return self.start + len(self.text)

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


_SKIP = r"(?: [ \t\r\n]+ | //[^\n]* )*+"
_START = re.compile(_SKIP, re.VERBOSE)
_TOKEN = re.compile(
    r"""
    (?: (?P<SYMBOL>-> | [=!<>]= | && | \|\| | [-+*!(){}\[\]<>,:=@] | /(?!\*) | \.(?![0-9]))
      | (?P<KEYWORD>(?: let | in | fn | tensor | reverseMode ) (?!\w))
      | (?P<NAME>[A-Za-z_][A-Za-z0-9_]*+ (?!\w))
      | (?P<NUMBER>[0-9]+ (?: \.[0-9]+ )? (?: [eE][+-]?[0-9]+ )? (?!\w) (?!\.(?![A-Za-z_])) )
      | (?P<BAD_NUMBER>[0-9]\w* (?: \.\w* )* | \.[0-9]\w*)
      | (?P<BAD_NAME>\w+)
      | (?P<COMMENT>/\*)
      | (?P<STRING>"[^"\n]*"? | '[^'\n]*'?)
      | (?P<OTHER>(?: (?!&& | \|\|) [^-+*/!(){}\[\]<>,:=.@\w\ \t\r\n"'] )++)
    )
    """
    + _SKIP,
    re.VERBOSE,
)
"""One token and what may be skipped after it: so all of a text past its `_START` is matched."""

_LOOKALIKES = {
    "\u2212": "-", "\u2013": "-", "\u2014": "-", "\u00d7": "*", "\u00b7": "*", "\u00f7": "/",
    "\u2192": "->", "\u00a0": "a space",
}  # fmt: skip
_FOREIGN = {
    ";": "a binding ends with `in`, all else without a mark",
    "#": "a comment starts with `//`",
    "%": "the remainder of integers is written x.rem(y)",
    "^": "there is no power in Kina; exclusive or of the bits of integers is x.bit_xor(y)",
    "&": "logic on Bool is written x && y, on the bits of integers x.bit_and(y)",
    "|": "logic on Bool is written x || y, on the bits of integers x.bit_or(y)",
    "~": "logic on Bool is written !x, on the bits of integers x.bit_xor(-1)",
    "?": "a choice is written condition.select(a, b)",
}


def tokenize(source: Source, report: Report, base: int = 0) -> list[Token]:
    """The tokens of `source`, an `END` token last; what is no token goes to `report`.

    `base` is where the text begins in that of the report, of which the source may be a part.
    """
    tokens: list[Token] = []
    start = _START.match(source.text)
    assert start is not None
    for match in _TOKEN.finditer(source.text, start.end()):
        index = match.lastindex
        assert index is not None
        token = Token(_KINDS[index], match[index], base + match.start(index))
        if index in _RIGHT:
            tokens.append(token)
        elif _is_path(token, tokens):
            tokens.append(token._replace(kind=TokenKind.PATH))
        else:
            _refuse(_GROUPS[index], token, report, tokens)
            tokens.append(token)
    end = tokens[-1].end if tokens else base
    tokens.append(Token(TokenKind.END, "", end))
    return tokens


def _is_path(token: Token, before: list[Token]) -> bool:
    """Whether a token is the text of an import: strings have no other use."""
    if not before or before[-1].text != IMPORT:
        return False
    return len(token.text) > 1 and token.text[0] == token.text[-1] == '"'


def _leads_to_path(token: Token) -> bool:
    return token.kind is TokenKind.PATH or token.text in _IMPORTING


_NO_PATH = 'a path stands behind `import`, between two `"`; there are no other strings in Kina'
_IMPORTING = frozenset({IMPORT, "from", "include", "open", "require", "use", "using"})
"""Words of this and other languages that a path may follow, with a bracket or a comma between."""


_GROUPS = {index: group for group, index in _TOKEN.groupindex.items()}
_KINDS = {
    index: TokenKind.__members__.get(group, TokenKind.ERROR) for index, group in _GROUPS.items()
}
_RIGHT = frozenset(index for index, kind in _KINDS.items() if kind is not TokenKind.ERROR)


def _refuse(group: str, token: Token, report: Report, before: list[Token]) -> None:
    """Reports a piece of text that is no token; of a run of strange characters, each."""
    if group == "STRING" and any(map(_leads_to_path, before[-2:])):
        path = token.text.strip("\"'") or "layers.kina"
        report.error(_NO_PATH, token.extent, help=f'write import "{path}"')
        return
    step = 1 if group == "OTHER" else len(token.text)
    places = range(token.start, token.end, step)
    for count, start in enumerate(places):
        if report.full:
            report.leave_out(len(places) - count)
            return
        extent = Extent(start, start + step)
        message, help_ = _explain(group, report.source.text[start : extent.end])
        report.error(message, extent, help=help_)


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


def paths_in(tokens: list[Token]) -> Iterator[Token]:
    """The path of every import of a file, in order: imports come before all else."""
    for word, path in zip(tokens[::2], tokens[1::2], strict=False):
        if word.text != IMPORT or path.kind is not TokenKind.PATH:
            return
        yield path
