"""The process's standard streams, which may be closed, full, or unable to show a character."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

from kina.errors import KinaValueError

STDIN = "<stdin>"
"""What messages call the standard input."""

_PIECE = 1 << 16


def prepare_streams() -> None:
    """Make printing safe: a closed stream swallows it, what an encoding lacks is escaped."""
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _nowhere() -> TextIOWrapper:
    return open(os.devnull, "w", encoding="utf-8")


def read_stdin(most: int) -> bytes:
    """The standard input, but no more than `most` bytes of it."""
    if sys.stdin is None:
        raise KinaValueError(f"{STDIN}: cannot read the standard input: it is closed")
    data, descriptor = bytearray(), sys.stdin.fileno()
    try:
        # In pieces: Ctrl-C is not seen in the middle of one long read.
        while len(data) < most and (piece := os.read(descriptor, _PIECE)):
            data += piece
    except OSError as error:
        reason = error.strerror or error
        raise KinaValueError(f"{STDIN}: cannot read the standard input: {reason}") from None
    return bytes(data[:most])


def report(text: str) -> None:
    """Print to the standard error, if anybody still listens."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        _discard(sys.stderr.fileno())


def discard_output() -> None:
    """Drop what is still to be printed; Python would try once more on its way out, and complain."""
    _discard(sys.stdout.fileno())


def _discard(descriptor: int) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), descriptor)
