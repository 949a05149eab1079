"""The reader of `.mlir` files of `kina-opt`: xDSL's parser, of which every failure has a place.

xDSL's parser hangs on a string without an end (its regular expression backtracks) and raises
whatever Python does on IR that no operation expects. Strings are therefore checked beforehand, and
where each operation stands is kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import IO, NoReturn

from xdsl.context import Context
from xdsl.dialects.bufferization import MaterializeInDestinationOp, ToTensorOp
from xdsl.dialects.builtin import MemRefType, ModuleOp, NoneAttr, UnregisteredOp
from xdsl.frontend.mlir import MLIRFrontend
from xdsl.ir import Operation
from xdsl.utils.exceptions import DiagnosticException, ParseError
from xdsl.utils.lexer import Input, Span
from xdsl.utils.mlir_lexer import MLIRTokenKind

from kina.dialects.upstream import MISSING, is_unknown
from kina.errors import KinaError
from kina.frontend.float_bits import BitsParser
from kina.frontend.source import Extent, Source
from kina.frontend.xdsl_frontend import ProgramError

MAX_IR_BYTES = 64 << 20
"""A larger file is refused: reading it would take xDSL tens of gigabytes."""

_ESCAPED = frozenset('"\\nt')
_ENDS_OF_LINES = "\n\v\f"
_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")


def too_much(error: RecursionError | MemoryError) -> str:
    """What to say where Python gives up."""
    if isinstance(error, RecursionError):
        return "this is nested too deeply"
    return "this takes more memory than there is"


@dataclass(frozen=True)
class MlirText(MLIRFrontend):
    """Reads MLIR text; whatever is wrong with it is a `ParseError`."""

    line_offset: int = 0
    """Lines of the file before this part of it (`--split-input-file`)."""
    places: dict[Operation, Span] = field(default_factory=dict[Operation, Span])
    """Filled with where each operation stands: its location says what the text states only."""

    def parse(self, ctx: Context, input: IO[bytes], input_name: str = "input") -> ModuleOp:
        """The module in `input`."""
        data = input.read()
        try:
            source = Source.decode(input_name, data, MAX_IR_BYTES)
        except KinaError as problem:
            raise ProgramError(problem, Source(input_name, "")) from None
        check_strings(source)
        reader = _Reader(ctx, source)
        module = reader.read(implicit_module=not self.no_implicit_module)
        for operation, at in reader.starts.items():
            self.places[operation] = Span(at.start, at.end, reader.lexer.input, self.line_offset)
        return module


class _Reader(BitsParser):
    """xDSL's parser, which knows the operations that it is in."""

    def __init__(self, ctx: Context, source: Source) -> None:
        super().__init__(ctx, source.text, source.name)
        self.starts: dict[Operation, Extent] = {}
        self._open: list[Extent] = []

    def read(self, implicit_module: bool) -> ModuleOp:
        """The whole text; `ParseError` for everything that goes wrong."""
        try:
            module = self.parse_module(implicit_module)
        except ParseError:
            raise
        except (RecursionError, MemoryError) as error:
            self._refuse(too_much(error), self._current_extent(), error)
        except DiagnosticException as error:
            self._refuse(str(error), self._innermost(), error)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            self._refuse(f"this is no valid operation: {said}", self._innermost(), error)
        self._expect_the_end()
        return module

    def parse_operation(self) -> Operation:
        """One operation, of which the place is kept."""
        self._open.append(self._current_extent())
        operation = super().parse_operation()
        self.starts[operation] = self._open.pop()
        return operation

    def _get_op_by_name(self, name: str) -> type[Operation]:
        """The class of an operation; what schedule-cpu makes and xDSL lacks is an unknown one."""
        return UnregisteredOp.with_name(name) if name in MISSING else super()._get_op_by_name(name)

    def _parse_generic_operation(self, op_type: type[Operation]) -> Operation:
        """An operation in the generic form; of some, xDSL knows only a part of what MLIR allows."""
        operation = super()._parse_generic_operation(op_type)
        strided = op_type in _OF_PLAIN_MEMREFS and _has_strides(operation)
        if not strided and not is_unknown(operation):
            return operation
        # As schedule-cpu makes it: xDSL would refuse the layout, the lanes or the alignment.
        unknown = UnregisteredOp.with_name(operation.name).create(
            operands=operation.operands,
            result_types=operation.result_types,
            properties=operation.properties,
            attributes=operation.attributes,
        )
        unknown.location = operation.location
        operation.erase()
        return unknown

    def _current_extent(self) -> Extent:
        span = self._current_token.span
        return Extent(span.start, span.end)

    def _innermost(self) -> Extent:
        return self._open[-1] if self._open else self._current_extent()

    def _expect_the_end(self) -> None:
        # With --no-implicit-module xDSL ignores what follows the module.
        if self._current_token.kind != MLIRTokenKind.EOF:
            self.raise_error("expected the end of the file after the module")

    def _refuse(self, message: str, at: Extent, error: BaseException) -> NoReturn:
        raise ParseError(Span(at.start, at.end, self.lexer.input), message) from error


_OF_PLAIN_MEMREFS = (ToTensorOp, MaterializeInDestinationOp)
"""What xDSL verifies as if a memref had no strides."""


def _has_strides(operation: Operation) -> bool:
    types = operation.operand_types
    return any(isinstance(t, MemRefType) and not isinstance(t.layout, NoneAttr) for t in types)


def check_strings(source: Source) -> None:
    """Raise `ParseError` at the first string that xDSL's lexer would not take, in linear time."""
    text = source.text
    quote, comment = text.find('"'), text.find("//")
    while quote >= 0:
        in_comment = 0 <= comment < quote
        end = _end_of_line(text, comment) if in_comment else _end_of_string(source, quote)
        # Each search goes on where the last one of its kind stopped: no text is searched twice.
        quote = text.find('"', end) if quote < end else quote
        comment = text.find("//", end) if 0 <= comment < end else comment


def _end_of_line(text: str, start: int) -> int:
    newline = text.find("\n", start)
    return len(text) if newline < 0 else newline


def _end_of_string(source: Source, start: int) -> int:
    """The offset after the closing quote of the string that starts at `start`."""
    text, at = source.text, start + 1
    while at < len(text) and text[at] not in _ENDS_OF_LINES:
        if text[at] == '"':
            return at + 1
        at += 1 if text[at] != "\\" else _escape_length(source, at)
    raise _string_error(source, start, at, 'the string has no end on this line, expected `"`')


def _escape_length(source: Source, at: int) -> int:
    escaped = source.text[at + 1 : at + 3]
    if escaped[:1] in _ESCAPED:
        return 2
    if len(escaped) == 2 and _HEX_DIGITS.issuperset(escaped):
        return 3
    message = 'no such escape in a string, expected one of \\" \\\\ \\n \\t or two hex digits'
    raise _string_error(source, at, at + 2, message)


def _string_error(source: Source, start: int, end: int, message: str) -> ParseError:
    return ParseError(Span(start, end, Input(source.text, source.name)), message)
