"""A line that says what takes so long: on a terminal only, and only after two seconds."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

PATIENCE = 2.0
"""Seconds before the line appears."""
_STEP = 1.0
_ERASE = "\r\x1b[K"


@contextmanager
def compiling(
    file: Path, stream: TextIO | None = None, patience: float = PATIENCE
) -> Generator[None]:
    """Counts the seconds of a compilation on standard error, and erases the line in the end."""
    shown = stream or sys.stderr
    if not shown.isatty():
        yield
        return
    done = threading.Event()
    line = threading.Thread(target=_count, args=(file, shown, done, patience), daemon=True)
    line.start()
    try:
        yield
    finally:
        done.set()
        line.join()


def _count(file: Path, stream: TextIO, done: threading.Event, patience: float) -> None:
    start = time.monotonic()
    wait, shown = patience, False
    while not done.wait(wait):
        seconds = time.monotonic() - start
        stream.write(f"{_ERASE}kina: compiling {file} … {seconds:.0f} s")
        stream.flush()
        wait, shown = min(_STEP, patience), True
    if shown:
        stream.write(_ERASE)
        stream.flush()
