"""From IR locations back to places in source files."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute

from kina.errors import Diagnostic, KinaTypeError, Span

_MOST_BYTES = 64 << 20
"""Of a file of which a message shows a line."""


def file_place(location: Attribute) -> FileLineColLoc | None:
    """The place in a file that a location stands for, if it has one."""
    match location:
        case FileLineColLoc():
            return location
        case NameLoc():
            return file_place(location.location)
        case CallSiteLoc():
            return file_place(location.callee)
        case FusedLoc():
            parts = cast(ArrayAttr[Attribute], location.locations)
            places = (file_place(part) for part in parts.data)
            return next((place for place in places if place is not None), None)
        case _:
            return None


def prefix(location: Attribute) -> str:
    """`FILE:LINE:COL: `, or nothing for an unknown location."""
    place = file_place(location)
    if place is None:
        return ""
    return f"{place.filename.data}:{place.line.data}:{place.column.data}: "


def span_of(location: Attribute) -> Span | None:
    """The place in a file that a location stands for, with its line where it can be read."""
    place = file_place(location)
    if place is None:
        return None
    file, line = place.filename.data, place.line.data
    text = linecache.getline(file, line).rstrip("\n") if _is_readable(file) else ""
    return Span(file, line, place.column.data, 1 if text else 0, text)


def _is_readable(file: str) -> bool:
    """IR may name any file, a device or a pipe as well."""
    try:
        path = Path(file)
        return path.is_file() and path.stat().st_size <= _MOST_BYTES
    except (OSError, ValueError):
        return False


def refusal(location: Attribute, message: str) -> KinaTypeError:
    """The error of a program that lower-kina does not take, at its place."""
    return KinaTypeError(Diagnostic(f"lower-kina: {message}", span_of(location)))
