"""The comments and blank lines of a program, and the lines that they hang on."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kina.frontend.formatting.document import Trivia
from kina.frontend.lexer import Token


def comments_of(text: str) -> list[str]:
    """The comments of what stands between two tokens, in order."""
    return [line.strip() for line in text.split("\n") if line.strip()]


def attach(text: str, tokens: Sequence[Token], places: Collection[int]) -> dict[int, Trivia]:
    """What hangs on each line of the program; `places` are the tokens that may begin a line.

    A comment at a place where no line may begin moves to the next one where it may.
    """
    found: dict[int, Trivia] = {}
    waiting: list[str] = []
    end = 0
    for index, token in enumerate(tokens):
        between = text[end : token.start] if index < len(tokens) - 1 else text[end:]
        end = token.end
        if index not in places:
            waiting += comments_of(between)
            continue
        if waiting or between.strip(" "):
            found[index] = _trivia(between, waiting, first=index == 0)
            waiting = []
    return found


def _trivia(between: str, moved: list[str], first: bool) -> Trivia:
    rest, *lines = [line.strip() for line in between.split("\n")]
    if first:
        rest, lines = "", [rest, *lines]
    if moved and rest:
        rest, moved = "", [*moved, rest]
    # What is before the token on its line is empty, unless the file ends in a comment.
    if lines and not lines[-1]:
        lines.pop()
    own = [*moved, *_single(lines)]
    blank = bool(own) and not own[-1]
    if blank:
        own.pop()
    return Trivia(rest, own, blank)


def _single(lines: list[str]) -> list[str]:
    """The lines with one blank line for each run of them."""
    before = ["x", *lines]
    return [line for line, last in zip(lines, before, strict=False) if line or last]
