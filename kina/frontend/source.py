"""A source text and the places in it."""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from pathlib import Path
from typing import NamedTuple

from kina.errors import Diagnostic, KinaSyntaxError, KinaValueError, Span

MAX_BYTES = 4 << 20
"""A larger file is refused: it is data, not a program."""

IMPORT = "import"
"""The word before the path of a file; no reserved word."""

_BOM = "\ufeff"
_UNPRINTABLE = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029]")


class Extent(NamedTuple):
    """A piece of the text: offsets of its first character and of the one after its last."""

    start: int
    end: int


class Source:
    """A program text with its name; a byte order mark at its start is dropped.

    Lines end with LF or CRLF; columns count characters from 1.
    """

    path: Path | None = None
    """The file, for a program that was read from one: imports are relative to it."""

    def __init__(self, name: str, text: str) -> None:
        # A file's name need not be UTF-8, but IR and messages are.
        self.name = name.encode("utf-8", "backslashreplace").decode("utf-8")
        self.text = text.removeprefix(_BOM)
        self._line_starts = [0, *(match.end() for match in re.finditer("\n", self.text))]
        self._shown = 0, ""

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Source:
        """The file at `path`, named as given.

        Raises `KinaValueError` for a file that cannot be read or is too large and
        `KinaSyntaxError` for one that is not UTF-8 text.
        """
        name = os.fspath(path)
        if not name:
            raise KinaValueError("the path of the program is empty, expected that of a .kina file")
        try:
            with Path(path).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise KinaValueError(f"{name}: cannot read the file: {reason}") from None
        source = cls.decode(name, data)
        source.path = Path(path)
        return source

    @classmethod
    def decode(cls, name: str, data: bytes, most: int = MAX_BYTES) -> Source:
        """The text that UTF-8 `data` of at most `most` bytes holds; see `read` for the errors."""
        if len(data) > most:
            raise KinaValueError(
                f"{name}: the file is too large for a program, expected at most {most} bytes"
            )
        try:
            source = cls(name, data.decode("utf-8"))
        except UnicodeDecodeError as error:
            readable = cls(name, data[: error.start].decode("utf-8"))
            wrong = f"not UTF-8 text: byte 0x{data[error.start]:02x} cannot be decoded"
            raise readable._refuse(wrong, len(readable.text)) from None
        if "\0" in source.text:
            raise source._refuse("not a text file: it holds a NUL byte", source.text.index("\0"))
        return source

    def _refuse(self, message: str, offset: int) -> KinaSyntaxError:
        return KinaSyntaxError(Diagnostic(message, self.span(offset, offset + 1)))

    @property
    def parts(self) -> tuple[tuple[int, Source], ...]:
        """The files of the program and where each begins; those that others import come first."""
        return ((0, self),)

    def file_at(self, offset: int) -> str:
        """The name of the file that a character is in."""
        return self.name

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of a character, both from 1."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def span(self, start: int, end: int) -> Span:
        """The place of `text[start:end]`; of several lines, the part on the first."""
        line, column = self.position(start)
        shown = self._line(line)
        width = max(1, min(end - start, len(shown) - column + 1))
        return Span(self.name, line, column, width, shown)

    def lines(self) -> list[str]:
        """Every line of the program's own file as messages show it."""
        return [self._line(number) for number in range(1, len(self._line_starts) + 1)]

    def _line(self, line: int) -> str:
        """The text of a line as messages show it; the last one is kept, for it may be long."""
        if self._shown[0] != line:
            first = self._line_starts[line - 1]
            newline = self.text.find("\n", first)
            stop = len(self.text) if newline < 0 else newline
            # A control character in a message could move the caret or drive the terminal.
            clean = _UNPRINTABLE.sub("\ufffd", self.text[first:stop].removesuffix("\r"))
            self._shown = line, clean
        return self._shown[1]
