"""Checked indices: what a bad one is, and the error that names it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from xdsl.dialects.builtin import FileLineColLoc
from xdsl.ir import Operation

from kina.arrays import Array
from kina.errors import Diagnostic, KinaIndexError, Note, Span
from kina.frozen import frozen
from kina.types import format_dims

_SOURCE_NAMES = {"kina.check_indices": "take_along_axis"}
"""What an operation without surface syntax stands for."""

_WORD = re.compile(r"\w*")


@frozen(slots=True)
class Bound:
    """What indices are held against: `0 .. size-1`, the size of `axis` of the values."""

    axis: int
    size: int
    shape: tuple[int, ...] | None = None
    """The values' shape, where it is known."""

    def __str__(self) -> str:
        values = "" if self.shape is None else f" of values {format_dims(self.shape)}"
        if not self.size:
            return f"an empty axis (axis {self.axis}{values})"
        return f"0 .. {self.size - 1} (axis {self.axis}{values})"


Lines = Sequence[str] | Mapping[str, Sequence[str]]
"""The text that messages quote: the lines of the one file, or those of each file."""


def index_failure(
    op: Operation, indices: Array, bound: Bound, lines: Lines | None
) -> KinaIndexError | None:
    """The error for the first index (row-major) outside `bound`, or None."""
    bad = (indices < 0) | (indices >= bound.size)
    if not bad.any():
        return None
    position = tuple(map(int, np.unravel_index(int(np.argmax(bad)), bad.shape)))
    place = f" at {format_dims(position)}" if position else ""
    name = _SOURCE_NAMES.get(op.name, op.name.removeprefix("kina."))
    message = f"{name}: index {int(indices[position])}{place} of indices is outside {bound}"
    return KinaIndexError(Diagnostic(message, _span(op, lines)))


@frozen(slots=True)
class Window:
    """What the start of a window is held against."""

    what: str
    """The operation."""
    axis: int
    size: int
    within: int
    """The size of the axis."""
    shape: tuple[int, ...] | None = None
    """The shape that the axis belongs to, where it is known."""

    @property
    def place(self) -> str:
        """The axis in words."""
        operand = "" if self.shape is None else f" of operand {format_dims(self.shape)}"
        return f"axis {self.axis}{operand}"


def window_failure(
    op: Operation, start: int, window: Window, lines: Lines | None
) -> KinaIndexError | None:
    """The error for a window that is not inside of its axis, or None."""
    last = window.within - window.size
    if 0 <= start <= last:
        return None
    name = "at" if window.what == "update" else "start"
    wrong = f"{name} {start} is outside 0 .. {last} (size {window.size}, {window.place})"
    if last < 0:
        wrong = f"size {window.size} is more than {window.within} ({window.place})"
    return KinaIndexError(Diagnostic(f"{window.what}: {wrong}", _span(op, lines)))


def in_layer(
    failure: KinaIndexError, fold: Operation, layer: int, lines: Lines | None
) -> KinaIndexError:
    """The same error, with a note on which layer of a fold it happened in."""
    (diagnostic,) = failure.diagnostics
    span = _span(fold, lines)
    if span is None:
        return failure
    note = Note(f"this fold was at layer {layer}", span)
    return KinaIndexError(replace(diagnostic, notes=(*diagnostic.notes, note)))


def _span(op: Operation, lines: Lines | None) -> Span | None:
    """The place of `op` in its source, with the line's text where it can be had."""
    location = op.location
    if not isinstance(location, FileLineColLoc):
        return None
    file, line, column = location.filename.data, location.line.data, location.column.data
    if isinstance(lines, Mapping):
        known = lines.get(file, ())
    else:
        known = _read_lines(file) if lines is None else lines
    text = known[line - 1] if 0 < line <= len(known) else ""
    word = _WORD.match(text, max(column - 1, 0))
    return Span(file, line, column, len(word.group()) if word else 0, text)


def _read_lines(file: str) -> list[str]:
    try:
        return Path(file).read_text("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError):
        return []
