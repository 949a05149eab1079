"""IR as text that both xDSL and mlir-opt read back.

A `linalg.generic` of several results ends in `-> (type, type)`, which xDSL prints and mlir-opt
reads, but which xDSL's own parser takes for the type of a function; and the location of an
`scf.while` is printed before its regions, where nobody looks for it. Such operations are therefore
printed in the generic form; what is inside them, as usual.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from io import StringIO
from typing import IO

from xdsl.context import Context
from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.dialects.scf import WhileOp
from xdsl.ir import Attribute, Operation
from xdsl.printer import Printer
from xdsl.syntax_printer import SyntaxPrinter
from xdsl.targets.mlir import MLIRTarget


def show(module: ModuleOp, *, locations: bool = False) -> str:
    """The module as text."""
    stream = StringIO()
    _Readable(stream, print_debuginfo=locations).print_op(module)
    return stream.getvalue() + "\n"


def show_places(module: ModuleOp) -> tuple[str, dict[int, LocationAttr]]:
    """The module as text without locations, and those of its lines, counted from 0."""
    stream = StringIO()
    printer = _Placed(stream)
    printer.print_op(module)
    return stream.getvalue() + "\n", printer.places


@dataclass(frozen=True)
class ReadableTarget(MLIRTarget):
    """What `kina-opt` prints: xDSL's target, with the generic form where its parser needs it."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        """Print `module` and the resources that it names."""
        printer = (_ReadableInColour if self.syntax_highlight else _Readable)(
            output,
            print_properties_as_attributes=self.print_properties_as_attributes,
            print_debuginfo=self.print_debuginfo,
        )
        printer.all_generic = self.print_generic_format
        printer.print_op(module)
        printer.print_metadata(ctx.loaded_dialects)
        print("\n", file=output)


class _Readable(Printer):
    """Prints in the generic form what xDSL would not read back, or everything."""

    all_generic = False

    def print_attribute(self, attribute: Attribute) -> None:
        """Print an attribute; a location, of which most operations share one, is spelt once."""
        if not isinstance(attribute, LocationAttr):
            super().print_attribute(attribute)
            return
        self.print_string(_spelt(attribute))

    def print_op(self, op: Operation) -> None:
        """Print one operation and what is inside it."""
        outside = self.print_generic_format
        self.print_generic_format = self.all_generic or _is_unreadable(op)
        super().print_op(op)
        self.print_generic_format = outside


class _Placed(_Readable):
    """Notes where the operations of each line come from."""

    def __init__(self, stream: IO[str]) -> None:
        super().__init__(stream)
        self.places: dict[int, LocationAttr] = {}

    def print_op(self, op: Operation) -> None:
        """Print one operation and what is inside it."""
        self.places.setdefault(self._current_line, op.location)
        super().print_op(op)


class _ReadableInColour(_Readable, SyntaxPrinter):
    """The same for a terminal."""


@lru_cache(maxsize=1024)
def _spelt(location: LocationAttr) -> str:
    stream = StringIO()
    Printer(stream).print_attribute(location)
    return stream.getvalue()


def _is_unreadable(op: Operation) -> bool:
    return isinstance(op, WhileOp) or (isinstance(op, GenericOp) and len(op.results) > 1)
