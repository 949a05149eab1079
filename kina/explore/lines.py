"""Lines of text, and the place of the program that each comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from xdsl.dialects.builtin import FileLineColLoc, LocationAttr, ModuleOp
from xdsl.dialects.func import CallOp, FuncOp
from xdsl.ir import Operation

from kina.backend.ir_text import show_places
from kina.frozen import frozen


class Place(NamedTuple):
    """A character of a file; line and column from 1."""

    file: str
    line: int
    column: int


class Line(NamedTuple):
    """A line, and where it comes from if that is known."""

    text: str
    place: Place | None = None


@frozen(slots=True)
class Pane:
    """A stage of the program."""

    title: str
    lines: Sequence[Line]


def module_lines(module: ModuleOp) -> list[Line]:
    """The text of a module."""
    text, places = show_places(module)
    return list(_lines(text, places))


def _lines(text: str, places: Mapping[int, LocationAttr]) -> Iterator[Line]:
    for number, line in enumerate(text.splitlines()):
        yield Line(line, place_of(places.get(number)))


def place_of(location: LocationAttr | None) -> Place | None:
    """The place that a location names, if it names one."""
    if not isinstance(location, FileLineColLoc):
        return None
    return Place(location.filename.data, location.line.data, location.column.data)


def place_calls(module: ModuleOp) -> None:
    """Give functions and calls that have no place that of what the functions do first.

    LLVM refuses a call without one in a function that has one.
    """
    functions = {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}
    for function in functions.values():
        if place_of(function.location) is None:
            function.location = _first(function)
    for function in module.ops:
        for op in function.walk():
            if isinstance(op, CallOp) and place_of(op.location) is None:
                callee = functions.get(op.callee.string_value())
                known = callee is not None and place_of(callee.location) is not None
                op.location = callee.location if callee and known else function.location


def _first(function: Operation) -> LocationAttr:
    """The first known place within a function; its own if there is none."""
    places = (op.location for op in function.walk() if place_of(op.location) is not None)
    return next(places, function.location)
