"""Documents that choose their line breaks, and how they become text.

A group is written on one line if it fits, else all of its own lines break (P. Wadler, "A prettier
printer", 2003). A line knows the token that follows it, which is where comments hang.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kina.frozen import frozen

WIDTH = 100
"""The longest line, in characters; what cannot be broken may be longer."""
STEP = "  "
"""What each level is indented by."""


@frozen
class Line:
    """A place where a line may end; `flat` stands there if it does not."""

    flat: str
    token: int
    """The index of the token after it."""
    hard: bool = False
    """Whether the line always ends here."""


@frozen
class Group:
    """What is on one line, or has each of its own lines broken."""

    parts: tuple[Doc, ...]


@frozen
class Indent:
    """What is one level further in."""

    parts: tuple[Doc, ...]


Doc = str | Line | Group | Indent


@dataclass
class Trivia:
    """What stands between two tokens beside spaces."""

    trailing: str = ""
    """The comment at the end of the line before."""
    own: list[str] = field(default_factory=list[str])
    """Comments on lines of their own; an empty one is a blank line."""
    blank: bool = False
    """Whether a blank line comes last."""

    @property
    def breaks(self) -> bool:
        """Whether a line must end here."""
        return bool(self.trailing or self.own)


_Entry = tuple[int, bool, Doc]
"""A level, whether lines break there, and what is to be written."""


def render(document: Sequence[Doc], trivia: Mapping[int, Trivia]) -> str:
    """The text of a document, with its comments."""
    return _Writer(trivia).write(document)


class _Writer:
    def __init__(self, trivia: Mapping[int, Trivia]) -> None:
        self._trivia = trivia
        self._out: list[str] = []
        self._column = 0
        self._stack: list[_Entry] = []

    def write(self, document: Sequence[Doc]) -> str:
        self._push(0, True, document)
        while self._stack:
            level, breaks, doc = self._stack.pop()
            match doc:
                case str():
                    self._text(doc)
                case Indent(parts):
                    self._push(level + 1, breaks, parts)
                case Group(parts):
                    self._push(level, breaks and not self._fits(parts), parts)
                case Line() if breaks or doc.hard:
                    self._newline(level, doc)
                case Line(flat):
                    self._text(flat)
        return "".join(self._out)

    def _push(self, level: int, breaks: bool, parts: Sequence[Doc]) -> None:
        self._stack.extend((level, breaks, part) for part in reversed(parts))

    def _text(self, text: str) -> None:
        self._out.append(text)
        self._column += len(text)

    def _newline(self, level: int, line: Line) -> None:
        """Ends a line; first the comment after it, then those before the next token."""
        trivia = self._trivia.get(line.token, Trivia())
        if trivia.trailing and self._out:
            self._out.append(f"{STEP}{trivia.trailing}")
        indent = STEP * level
        lines = [f"{indent}{text}" if text else "" for text in trivia.own if text or line.hard]
        if trivia.blank and line.hard:
            lines.append("")
        start = "\n" if self._out else ""
        self._out.append(start + "".join(f"{text}\n" for text in lines) + indent)
        self._column = len(indent)

    def _fits(self, parts: Sequence[Doc]) -> bool:
        """Whether the parts, and what follows up to the next line, fit on this one."""
        room = WIDTH - self._column
        inside: list[Doc] = list(reversed(parts))
        while inside and room >= 0:
            match doc := inside.pop():
                case str():
                    room -= len(doc)
                case Line(flat, token, hard):
                    if hard or self._trivia.get(token, Trivia()).breaks:
                        return False
                    room -= len(flat)
                case Group(nested) | Indent(nested):
                    inside.extend(reversed(nested))
        return room >= self._width_after()

    def _width_after(self) -> int:
        """How much text follows what is being written before the next place to break."""
        width = 0
        for _, _, after in reversed(self._stack):
            pending: list[Doc] = [after]
            while pending and width <= WIDTH:
                match doc := pending.pop():
                    case str():
                        width += len(doc)
                    case Line():
                        return width
                    case Group(nested) | Indent(nested):
                        pending.extend(reversed(nested))
        return width
