"""What an editor asks at a place of a program; places are offsets in the program's own file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kina.dtypes import DTYPES
from kina.errors import KinaValueError
from kina.frontend.ast import Function, Reverse
from kina.frontend.check_folds import FOLD
from kina.frontend.lexer import Token, TokenKind
from kina.frontend.meaning import RecordValue, type_of
from kina.frontend.source import Extent
from kina.lsp.analysis import Analysis
from kina.lsp.names import Definition, Kind
from kina.ops import OPS, REDUCTIONS

_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")
_WORDS = ("let", "in", "fn", "tensor", "reverseMode")
_LISTS = ("dims", "axes")
"""Arguments that are lists of dimensions and have no name."""
_FOLD = "fold(block, x, over=[…], with=[…])"


class Signature(NamedTuple):
    """A callee, its parameters, and which of them is being written."""

    label: str
    parameters: tuple[str, ...]
    active: int


class Completion(NamedTuple):
    """A word that may stand at a place."""

    word: str
    kind: Kind
    detail: str


class Hint(NamedTuple):
    """A type that is not written, and where it would stand."""

    offset: int
    text: str


def hover(analysis: Analysis, offset: int) -> tuple[str, Extent] | None:
    """What stands at a place, in Kina, and the piece that it is said of."""
    place = offset + analysis.base
    found = analysis.names.at(place)
    if found is not None:
        text = describe(analysis, found[1])
        if text is not None:
            return text, _own(analysis, found[0])
    around = [e for e in analysis.observed if e.start <= place < e.end]
    for extent in sorted(around, key=lambda each: each.end - each.start):
        type_ = type_of(analysis.observed[extent])
        if type_ is not None:
            return str(type_), _own(analysis, extent)
    return None


def describe(analysis: Analysis, definition: Definition) -> str | None:
    """A definition in a line."""
    match definition.kind:
        case Kind.OPERATION:
            return operation_signature(definition.name).label
        case Kind.FUNCTION:
            signature = analysis.typed.signatures.get(definition.name)
            return None if signature is None else str(signature)
        case Kind.RECORD:
            record = analysis.names.records[definition.name]
            end = record.fields[-1].type.extent.end
            return f"type {analysis.source.text[record.name.extent.start : end]} }}"
        case Kind.FIELD:
            return _field_text(analysis, definition)
        case Kind.DIMENSION:
            return f"{definition.name}: size"
        case Kind.PARAMETER | Kind.VARIABLE:
            type_ = analysis.type_text(definition)
            return None if type_ is None else f"{definition.name}: {type_}"


def _field_text(analysis: Analysis, definition: Definition) -> str | None:
    for record in analysis.names.records.values():
        for field in record.fields:
            if field.name.extent == definition.extent:
                start, end = field.name.extent.start, field.type.extent.end
                return f"{record.name.name}: {analysis.source.text[start:end]}"
    return None


def operation_signature(name: str) -> Signature:
    """How an operation is called."""
    if name == FOLD:
        return Signature(_FOLD, ("block", "x", "over=[…]", "with=[…]"), 0)
    op = OPS[name]
    operands = ("x, y, …",) if op.variadic else op.operands
    plain = [each for each in operands if each not in op.named]
    lists = ["[…]" for each in op.attributes if each in _LISTS]
    named = [f"{each}=…" for each in (*op.attributes, *op.named) if each not in _LISTS]
    parameters = (*plain, *lists, *named)
    return Signature(f"{name}({', '.join(parameters)})", parameters, 0)


def definition(analysis: Analysis, offset: int) -> Definition | None:
    """Where the name at a place is bound."""
    found = analysis.names.at(offset + analysis.base)
    return None if found is None else found[1]


def check_rename(analysis: Analysis, meant: Definition, new: str) -> None:
    """Raise `KinaValueError` if a name cannot be given, or would come to mean something else."""
    if meant.extent is None:
        raise KinaValueError(f"`{meant.name}` is an operation of the language")
    if not _NAME.fullmatch(new) or new in _WORDS:
        raise KinaValueError(f"`{new}` is not a name: names are ASCII letters, digits and `_`")
    if any(each.name == new and each.kind is not Kind.FIELD for each in analysis.names.definitions):
        raise KinaValueError(f"`{new}` is bound in this program already")
    if meant.kind is Kind.FUNCTION and (new in OPS or new == FOLD):
        raise KinaValueError(f"`{new}` is an operation: the function would hide it")


def hints(analysis: Analysis) -> Iterator[Hint]:
    """The type of every variable of the program's own file."""
    for each in analysis.names.definitions:
        if each.kind is not Kind.VARIABLE or each.extent is None:
            continue
        type_ = analysis.type_text(each)
        if type_ is not None and each.extent.start >= analysis.base:
            yield Hint(each.extent.end - analysis.base, f": {type_}")


def signature(analysis: Analysis, offset: int) -> Signature | None:
    """The call that a place is inside of."""
    before = [token for token in analysis.tokens() if token.end <= offset]
    opened = _open_bracket(before)
    if opened is None or opened == 0 or before[opened - 1].kind is not TokenKind.NAME:
        return None
    callee = before[opened - 1].text
    after_dot = opened > 1 and before[opened - 2].text == "."
    known = _callee(analysis, callee)
    if known is None:
        return None
    position = _commas(before[opened + 1 :]) + int(after_dot)
    return known._replace(active=min(position, max(0, len(known.parameters) - 1)))


def _open_bracket(tokens: list[Token]) -> int | None:
    depth = 0
    for index in range(len(tokens) - 1, -1, -1):
        text = tokens[index].text
        depth += (text in (")", "]")) - (text in ("(", "["))
        if depth < 0 and text == "(":
            return index
        if text in ("{", "}"):
            return None
    return None


def _commas(tokens: list[Token]) -> int:
    depth = count = 0
    for token in tokens:
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        count += token.text == "," and depth == 0
    return count


def _callee(analysis: Analysis, name: str) -> Signature | None:
    function = analysis.names.functions.get(name)
    if isinstance(function, Function | Reverse):
        known = analysis.typed.signatures.get(name)
        if known is None:
            return None
        return Signature(str(known), tuple(known.names), 0)
    record = analysis.names.records.get(name)
    if record is not None:
        fields = tuple(f"{field.name.name}=…" for field in record.fields)
        return Signature(f"{name}({', '.join(fields)})", fields, 0)
    return operation_signature(name) if name in OPS or name == FOLD else None


def completions(analysis: Analysis, offset: int) -> Iterator[Completion]:
    """The words that may stand at a place; the editor keeps those that fit what is written."""
    before = [token for token in analysis.tokens() if token.end <= offset]
    while before and before[-1].kind is TokenKind.NAME and before[-1].end == offset:
        before.pop()
    last = [token.text for token in before[-3:]]
    if last[-2:] == ["tensor", "<"]:
        yield from (Completion(name, Kind.DIMENSION, "dtype") for name in DTYPES)
        return
    if last[-2:] == ["op", "="]:
        yield from (Completion(name, Kind.OPERATION, "reduction") for name in REDUCTIONS)
        return
    if last[-1:] == ["."]:
        yield from _fields(analysis, before[-1].start)
    else:
        for each in analysis.names.visible(offset + analysis.base).values():
            yield Completion(each.name, each.kind, describe(analysis, each) or "")
        for name in analysis.names.records:
            yield Completion(name, Kind.RECORD, "record")
    for name in analysis.names.functions:
        yield Completion(name, Kind.FUNCTION, str(analysis.typed.signatures.get(name, "")))
    for name in (*OPS, FOLD):
        yield Completion(name, Kind.OPERATION, operation_signature(name).label)


def _fields(analysis: Analysis, dot: int) -> Iterator[Completion]:
    """The fields of the record that ends before a dot."""
    place = dot + analysis.base
    for extent, meaning in analysis.observed.items():
        if extent.end == place and isinstance(meaning, RecordValue):
            for name, value in meaning.fields.items():
                yield Completion(name, Kind.FIELD, str(type_of(value)))


def _own(analysis: Analysis, extent: Extent) -> Extent:
    """A place in the program's own file."""
    return Extent(extent.start - analysis.base, extent.end - analysis.base)
