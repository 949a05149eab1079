"""The line of a long compilation."""

from __future__ import annotations

import time
from io import StringIO
from pathlib import Path

from kina.cli.progress import compiling


class Terminal(StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        """It is."""
        return True


def test_a_long_compilation_counts_and_leaves_nothing() -> None:
    terminal = Terminal()
    with compiling(Path("model.kina"), terminal, patience=0.01):
        while "\n" not in terminal.getvalue() and terminal.getvalue().count("model.kina") < 2:
            time.sleep(0.005)
    assert "\r\x1b[Kkina: compiling model.kina … 0 s" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r\x1b[K")


def test_a_short_one_says_nothing() -> None:
    terminal = Terminal()
    with compiling(Path("model.kina"), terminal, patience=60):
        pass
    assert terminal.getvalue() == ""


def test_a_file_or_a_pipe_gets_nothing() -> None:
    stream = StringIO()
    with compiling(Path("model.kina"), stream, patience=0.0):
        time.sleep(0.02)
    assert stream.getvalue() == ""
