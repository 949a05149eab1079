"""Types and tensor literals."""

from __future__ import annotations

from kina.frontend.ast import (
    Dims,
    Identifier,
    Literal,
    LiteralValue,
    NamedType,
    RecordExpr,
    TypeExpr,
)
from kina.frontend.cursor import Cursor
from kina.frontend.lexer import TokenKind
from kina.frontend.parse_dims import parse_dim, parse_dims
from kina.frontend.source import Extent

_TYPE = "a type such as `tensor<F32, [2, 3]>`"
_WORDS = ("inf", "nan", "true", "false")
_VALUE = "a value: a number, `inf`, `nan`, `true` or `false`"


def parse_named_type(cursor: Cursor) -> NamedType:
    """A tensor type, or the name of a record with sizes: `Layer`, `Layer<D=4>`."""
    token, ahead = cursor.current, cursor.ahead
    sized = ahead(1).text == "<"
    if token.kind is not TokenKind.NAME or (sized and ahead(3).text != "="):
        return parse_type(cursor)
    cursor.advance()
    opened = cursor.accept("<")
    sizes = tuple(cursor.items(opened, ">", lambda: _size(cursor))) if opened else ()
    return RecordExpr(cursor.since(token.start), Identifier(token.extent, token.text), sizes)


def _size(cursor: Cursor) -> tuple[Identifier, Dims]:
    symbol = cursor.identifier("the name of a dimension")
    cursor.expect("=", " and a dimension")
    start = cursor.current.start
    dim = parse_dim(cursor)
    return symbol, Dims(cursor.since(start), (dim,))


def parse_type(cursor: Cursor) -> TypeExpr:
    """`tensor<DTYPE, [dims], @placement>`."""
    start = cursor.current.start
    if not cursor.at("tensor"):
        raise cursor.fail(_TYPE)
    cursor.advance()
    opened = cursor.expect("<", " after `tensor`")
    dtype = cursor.identifier("a dtype such as `F32`")
    cursor.expect(",", " and dimensions such as `[2, 3]`")
    dims = parse_dims(cursor)
    placement = _placement(cursor) if cursor.accept(",") else None
    cursor.expect(">", opened=opened)
    return TypeExpr(cursor.since(start), dtype, dims, placement)


def _placement(cursor: Cursor) -> Identifier:
    at = cursor.current
    if not cursor.accept("@"):
        raise cursor.fail("a placement: `@host` or `@device`")
    name = cursor.identifier("`host` or `device` after `@`")
    return Identifier(Extent(at.start, name.extent.end), name.name)


def parse_literal(cursor: Cursor) -> Literal:
    """`tensor<F32, [2]>(1.0, 2.0)`."""
    type_ = parse_type(cursor)
    opened = cursor.expect("(", " and the values of the tensor literal")
    if cursor.at(")"):
        raise cursor.fail(_VALUE)
    values = tuple(cursor.items(opened, ")", lambda: _value(cursor)))
    return Literal(cursor.since(type_.extent.start), type_, values)


def _value(cursor: Cursor) -> LiteralValue:
    start = cursor.current.start
    sign = "-" if cursor.accept("-") else ""
    token = cursor.current
    words = _WORDS[:1] if sign else _WORDS
    if token.kind is not TokenKind.NUMBER and not cursor.at(*words):
        raise cursor.fail("a number or `inf`" if sign else _VALUE)
    cursor.advance()
    return LiteralValue(cursor.since(start), sign + token.text)
