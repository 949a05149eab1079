"""The program that a command is given: a file, or `-` for the standard input."""

from __future__ import annotations

from pathlib import Path

from kina.cli.streams import STDIN, read_stdin
from kina.frontend.source import MAX_BYTES, Source

_STDIN_ARGUMENT = Path("-")


def is_stdin(file: Path) -> bool:
    """Whether `-` was given; a file of that name is `./-`."""
    return file == _STDIN_ARGUMENT


def read_program(file: Path) -> Source:
    """The text of `file`; errors as those of `Source.read`."""
    if not is_stdin(file):
        return Source.read(file)
    return Source.decode(STDIN, read_stdin(MAX_BYTES + 1))
