"""A line that says what takes so long: on a terminal only, and only after two seconds."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO
from unicodedata import east_asian_width

from kina.backend.activity import Activity

PATIENCE = 2.0
"""Seconds before the line appears."""
_STEP = 1.0
_ERASE = "\r\x1b[K"


@contextmanager
def compiling(
    file: Path, stream: TextIO | None = None, patience: float = PATIENCE
) -> Generator[Activity]:
    """Counts the seconds of a compilation on standard error, and erases the line in the end.

    The line names the tools that run, as the compilation tells what is given here.
    """
    shown = stream or sys.stderr
    activity = Activity()
    if not shown.isatty():
        yield activity
        return
    done = threading.Event()
    words = (file, activity, shown, done, patience)
    line = threading.Thread(target=_count, args=words, daemon=True)
    line.start()
    try:
        yield activity
    finally:
        done.set()
        line.join()


def _count(
    file: Path, activity: Activity, stream: TextIO, done: threading.Event, patience: float
) -> None:
    start = time.monotonic()
    wait, shown = patience, False
    while not done.wait(wait):
        seconds = time.monotonic() - start
        line = f"kina: compiling {file} … {seconds:.0f} s: {activity}".removesuffix(": ")
        stream.write(f"{_ERASE}{_cut(line, shutil.get_terminal_size().columns - 1)}")
        stream.flush()
        wait, shown = min(_STEP, patience), True
    if shown:
        stream.write(_ERASE)
        stream.flush()


def _cut(line: str, columns: int) -> str:
    """As much as fits: of a line that wraps, only the end would be erased."""
    for index, character in enumerate(line):
        columns -= 2 if east_asian_width(character) in "WF" else 1
        if columns < 0:
            return line[:index]
    return line
