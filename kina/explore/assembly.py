"""Assembly with the lines of the program that its instructions come from."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator

from kina.explore.lines import Line, Place

_NO_LINE = 0


def assembly_lines(text: str) -> list[Line]:
    """Instructions, labels and data; directives say where those that follow come from."""
    return list(_Reader().lines(text))


class _Reader:
    """What the directives so far have said."""

    def __init__(self) -> None:
        self._files: dict[str, str] = {}
        self._place: Place | None = None
        self._hidden = False

    def lines(self, text: str) -> Iterator[Line]:
        """What is to be shown."""
        for line in text.splitlines():
            words = line.split(maxsplit=1)
            if not words:
                continue
            word, rest = words[0], words[1] if len(words) > 1 else ""
            if not self._directive(word, rest) and not self._hidden:
                yield self._shown(line, word)

    def _directive(self, word: str, rest: str) -> bool:
        """Heed a directive; whether it is one that is not shown."""
        if word == ".file":
            self._name([_unescaped(word) for word in shlex.split(rest)])
        elif word == ".loc":
            self._move(rest.split())
        elif word in (".section", ".text"):
            self._hidden = rest.startswith((".debug", '".note'))
            self._place = None
        return word.startswith(_UNSHOWN_STARTS) or word in _UNSHOWN or rest.startswith("kill:")

    def _name(self, words: list[str]) -> None:
        """`.file 1 "folder" "name"`: what a number stands for."""
        number, *names = words
        if number.isdigit():
            parts = [name for name in names if name != "md5" and not name.startswith("0x")]
            self._files[number] = os.path.join(*parts[:2])

    def _move(self, words: list[str]) -> None:
        """`.loc 1 12 7`: what follows comes from there."""
        file, line, column = words[:3]
        known = file in self._files and int(line) != _NO_LINE
        self._place = Place(self._files[file], int(line), int(column)) if known else None

    def _shown(self, line: str, word: str) -> Line:
        """A label comes from nowhere; data belong to no line."""
        is_instruction = line[:1].isspace() and not word.startswith(".")
        return Line(line.expandtabs(8), self._place if is_instruction else None)


_UNSHOWN = frozenset(
    (
        *(".file", ".loc", ".section", ".text", ".globl", ".type", ".size", ".p2align"),
        *(".ident", ".addrsig", ".addrsig_sym", ".hidden", ".local"),
    )
)
"""Directives for the assembler alone."""

_UNSHOWN_STARTS = (".cfi_", ".Ltmp", ".Lfunc_begin", ".Lsec_end", "#APP", "#NO_APP")


def _unescaped(word: str) -> str:
    """A name whose bytes past ASCII are written as `\\303\\274`."""
    return word.encode("latin-1").decode("unicode_escape").encode("latin-1").decode("utf-8")
