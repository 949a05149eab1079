"""Dimensions: integers, names, and what `+`, `-`, `*` and parentheses make of them."""

from __future__ import annotations

from kina.frontend.ast import DimExpr, DimProduct, Dims, DimSum, Identifier, Size
from kina.frontend.cursor import Cursor
from kina.frontend.lexer import Token, TokenKind

MAX_NESTING = 32
"""Of the parentheses of a dimension."""

_DIM = "a dimension: an integer of at least 1, a name, or a sum or product of them"
_NO_DIVISION = (
    "a dimension is made with `+`, `-` and `*`: let a name stand for the smaller size, "
    "and write `2 * H` where the larger one stands"
)


_NO_REST = "no size is left to find: write it, or what makes it up, such as [B * T, D]"
_NEGATIVE: dict[str, str] = dict.fromkeys(
    ("transpose", "permute"), "axes are counted from 0, as in [0, 2, 1]"
)
"""What to say of -1, by what is called."""


def parse_dims(cursor: Cursor, called: str = "") -> Dims:
    """`[B, T + 1]`, or `[]` for rank 0; an argument of what is `called`."""
    if not cursor.at("["):
        raise cursor.fail("dimensions such as `[2, 3]`")
    opened = cursor.advance()
    items = tuple(cursor.items(opened, "]", lambda: _item(cursor, called)))
    return Dims(cursor.since(opened.start), items)


def _item(cursor: Cursor, called: str) -> DimExpr:
    if cursor.at("-"):
        raise cursor.fail(_DIM, help=_NEGATIVE.get(called, _NO_REST))
    return parse_dim(cursor)


def parse_dim(cursor: Cursor, depth: int = 0) -> DimExpr:
    """`T + 1`: terms that are added and subtracted."""
    start = cursor.current.start
    terms = [("+", _term(cursor, depth))]
    while cursor.at("+", "-"):
        sign = cursor.advance().text
        terms.append((sign, _term(cursor, depth)))
    if cursor.at("/"):
        raise cursor.fail("`,` or `]`", help=_NO_DIVISION)
    return terms[0][1] if len(terms) == 1 else DimSum(cursor.since(start), tuple(terms))


def _term(cursor: Cursor, depth: int) -> DimExpr:
    start = cursor.current.start
    factors = [_factor(cursor, depth)]
    while cursor.accept("*"):
        factors.append(_factor(cursor, depth))
    return factors[0] if len(factors) == 1 else DimProduct(cursor.since(start), tuple(factors))


def _factor(cursor: Cursor, depth: int) -> DimExpr:
    token = cursor.current
    if cursor.accept("("):
        return _in_parentheses(cursor, token, depth)
    if token.kind is TokenKind.NAME:
        cursor.advance()
        return Identifier(token.extent, token.text)
    if token.kind is TokenKind.NUMBER and token.text.isdigit():
        cursor.advance()
        return Size(token.extent, token.text)
    raise cursor.fail(_DIM)


def _in_parentheses(cursor: Cursor, opened: Token, depth: int) -> DimExpr:
    if depth == MAX_NESTING:
        message = f"nested too deeply: at most {MAX_NESTING} levels"
        raise cursor.refuse(message, opened.extent)
    dim = parse_dim(cursor, depth + 1)
    cursor.expect(")", opened=opened)
    return dim
