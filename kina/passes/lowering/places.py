"""From IR locations back to places in source files."""

from __future__ import annotations

import linecache
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, FileLineColLoc, FusedLoc, NameLoc
from xdsl.ir import Attribute

from kina.errors import Diagnostic, KinaTypeError, Span


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


def refusal(location: Attribute, message: str) -> KinaTypeError:
    """The error of a program that lower-kina does not take, at its place."""
    place = file_place(location)
    if place is None:
        return KinaTypeError(f"lower-kina: {message}")
    file, line = place.filename.data, place.line.data
    linecache.checkcache(file)
    text = linecache.getline(file, line).rstrip("\n")
    span = Span(file, line, place.column.data, 1 if text else 0, text)
    return KinaTypeError(Diagnostic(f"lower-kina: {message}", span))
