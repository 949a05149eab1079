"""Expressions: recursive descent with a Pratt core for the binary operators."""

from __future__ import annotations

from kina.frontend.ast import (
    Argument,
    ArgumentValue,
    Binary,
    Binding,
    Call,
    Expr,
    Field,
    Identifier,
    Items,
    Let,
    Name,
    Negate,
    Not,
    NumberExpr,
    TupleExpr,
)
from kina.frontend.cursor import Cursor, Panic
from kina.frontend.lexer import Token, TokenKind
from kina.frontend.parse_dims import parse_dims
from kina.frontend.parse_types import parse_literal
from kina.frontend.source import Extent
from kina.frontend.steps import Step, Steps
from kina.ops import COMPARISONS

MAX_NESTING = 256
"""How deeply brackets and bindings may nest in one another."""

_COMPARED = 3
POWERS = {
    "||": 1, "&&": 2, **dict.fromkeys(COMPARISONS, _COMPARED), "+": 4, "-": 4, "*": 5, "/": 5,
}  # fmt: skip
"""How tightly each operator binds."""
PREFIXES = {"-": Negate, "!": Not}
_CALLS = frozenset({"(", "."})
_LISTS = frozenset({"over", "with"})
"""Arguments of `fold` that are lists of values; any other list is one of dimensions."""


class ExpressionParser:
    """Reads expressions; every method that returns `Steps` is one rule of the grammar."""

    def __init__(self, cursor: Cursor) -> None:
        self._cursor = cursor
        self._depth = 0
        self.open_lets = 0
        """How many `let` still wait for their `in`: recovery skips as many."""

    def reset(self) -> None:
        """Forgets what was open: a new statement begins."""
        self._depth = self.open_lets = 0

    def expression(self) -> Steps[Expr]:
        """A chain of bindings and its body, or a sum."""
        return self._let() if self._cursor.at("let") else self._sum()

    def _let(self) -> Steps[Expr]:
        cursor = self._cursor
        start = cursor.current.start
        bindings: list[Binding] = []
        while cursor.at("let"):
            bindings.append((yield self._inner_binding()))
        body: Expr = yield self._sum()
        return Let(cursor.since(start), tuple(bindings), body)

    def _inner_binding(self) -> Steps[Binding]:
        self.open_lets += 1
        binding: Binding = yield self.binding()
        self._cursor.expect("in", " after the value of the binding")
        self.open_lets -= 1
        return binding

    def binding(self) -> Steps[Binding]:
        """`let pattern = value`, without the `in`."""
        cursor = self._cursor
        let = cursor.expect("let")
        start = cursor.current.start
        names = self._pattern()
        pattern = cursor.since(start)
        cursor.expect("=", " after the name of the binding")
        self._refuse_function()
        self._enter(let)
        value: Expr = yield self.expression()
        self._depth -= 1
        return Binding(names, pattern, value)

    def _refuse_function(self) -> None:
        if self._cursor.at("fn", "reverseMode"):
            raise self._cursor.fail("an expression", help="functions are defined at the top level")

    def _pattern(self) -> tuple[Identifier, ...]:
        cursor = self._cursor
        opened = cursor.current
        if not cursor.accept("("):
            return (cursor.identifier("a name, or a pattern such as `(a, b)`"),)
        names = tuple(cursor.items(opened, ")", lambda: cursor.identifier("a name")))
        if len(names) < 2:
            extent = cursor.since(opened.start)
            raise cursor.refuse("a pattern in parentheses binds at least two names", extent)
        return names

    def _sum(self) -> Steps[Expr]:
        """Operands and operators: each waits until one that binds no tighter follows."""
        cursor = self._cursor
        waiting: list[tuple[Expr, Token, int]] = []
        while True:
            operand: Expr = self._leaf() or (yield self._unary())
            power = POWERS.get(cursor.current.text, 0)
            while waiting and waiting[-1][2] >= power:
                left, operator, _ = waiting.pop()
                extent = Extent(left.extent.start, operand.extent.end)
                operand = Binary(extent, operator.extent, operator.text, left, operand)
                self._refuse_chain(operand, power)
            if not power:
                return operand
            waiting.append((operand, cursor.advance(), power))

    def _refuse_chain(self, before: Binary, power: int) -> None:
        """Comparisons have no order among themselves."""
        if power == _COMPARED and before.symbol in COMPARISONS:
            token = self._cursor.current
            message = f"`{token.text}` follows a comparison: comparisons do not chain"
            help_ = f"write a {before.symbol} b && b {token.text} c, or put one into parentheses"
            raise self._cursor.refuse(message, token.extent, help_)

    def _leaf(self) -> Expr | None:
        """A name or a number that no call follows: most operands."""
        cursor = self._cursor
        token = cursor.current
        if token.kind is TokenKind.NAME and cursor.ahead(1).text not in _CALLS:
            cursor.advance()
            return Name(token.extent, token.text)
        if token.kind is TokenKind.NUMBER and cursor.ahead(1).text not in _CALLS:
            cursor.advance()
            return NumberExpr(token.extent, token.text)
        return None

    def _unary(self) -> Steps[Expr]:
        return self._prefixed() if self._cursor.at(*PREFIXES) else self._postfix()

    def _prefixed(self) -> Steps[Expr]:
        prefixes: list[Token] = []
        while self._cursor.at(*PREFIXES):
            prefixes.append(self._cursor.advance())
            if len(prefixes) > MAX_NESTING:
                raise self._too_deep(prefixes[0])
        operand: Expr = yield self._postfix()
        for prefix in reversed(prefixes):
            extent = Extent(prefix.start, operand.extent.end)
            operand = PREFIXES[prefix.text](extent, prefix.extent, operand)
        return operand

    def _postfix(self) -> Steps[Expr]:
        cursor = self._cursor
        value: Expr = yield self._primary()
        while cursor.accept("."):
            name = cursor.identifier("the name of an operation, function or field after `.`")
            if cursor.at("("):
                value = yield self._call(name, value)
            else:
                value = Field(cursor.since(value.extent.start), value, name)
        return value

    def _primary(self) -> Step[Expr]:
        cursor = self._cursor
        token = cursor.current
        if token.kind is TokenKind.NUMBER:
            cursor.advance()
            return NumberExpr(token.extent, token.text)
        if token.kind is TokenKind.NAME:
            cursor.advance()
            if not cursor.at("("):
                return Name(token.extent, token.text)
            return self._call(Identifier(token.extent, token.text), None)
        if token.text == "(":
            return self._parenthesized()
        if token.text == "tensor":
            return parse_literal(cursor)
        raise cursor.fail("an expression", help=_EXPRESSION_HELP.get(token.text))

    def _parenthesized(self) -> Steps[Expr]:
        cursor = self._cursor
        opened = self._enter(cursor.advance())
        items: list[Expr] = [(yield self.expression())]
        comma = cursor.accept(",")
        while comma and not cursor.at(")"):
            items.append((yield self.expression()))
            comma = cursor.accept(",")
        cursor.expect(")", opened=opened)
        self._depth -= 1
        extent = cursor.since(opened.start)
        if len(items) > 1:
            return TupleExpr(extent, tuple(items))
        if comma:
            raise cursor.refuse("a tuple has at least two items", extent, "drop the comma")
        return items[0]._replace(extent=extent)

    def _call(self, callee: Identifier, receiver: Expr | None) -> Steps[Expr]:
        cursor = self._cursor
        opened = self._enter(cursor.advance())
        arguments = [] if receiver is None else [Argument(None, receiver)]
        while not cursor.at(")"):
            name = self._argument_name()
            value = yield self._argument(callee, name)
            arguments.append(Argument(name, value))
            if not cursor.accept(","):
                break
        cursor.expect(")", opened=opened)
        self._depth -= 1
        start = callee.extent.start if receiver is None else receiver.extent.start
        return Call(cursor.since(start), callee, tuple(arguments))

    def _argument(self, callee: Identifier, name: Identifier | None) -> Step[ArgumentValue]:
        cursor = self._cursor
        if not cursor.at("["):
            return self.expression()
        is_list = name is not None and name.name in _LISTS
        return self._items() if is_list else parse_dims(cursor, callee.name)

    def _items(self) -> Steps[Items]:
        """A list of values in brackets."""
        cursor = self._cursor
        opened = self._enter(cursor.advance())
        values: list[Expr] = []
        while not cursor.at("]"):
            values.append((yield self.expression()))
            if not cursor.accept(","):
                break
        cursor.expect("]", opened=opened)
        self._depth -= 1
        return Items(cursor.since(opened.start), tuple(values))

    def _argument_name(self) -> Identifier | None:
        cursor = self._cursor
        if not cursor.at_kind(TokenKind.NAME) or cursor.ahead(1).text != "=":
            return None
        name = cursor.identifier("a name")
        cursor.advance()
        return name

    def _enter(self, opened: Token) -> Token:
        self._depth += 1
        if self._depth > MAX_NESTING:
            raise self._too_deep(opened)
        return opened

    def _too_deep(self, token: Token) -> Panic:
        message = f"nested too deeply: at most {MAX_NESTING} levels"
        return self._cursor.refuse(message, token.extent, "name a part of it with `let`")


_EXPRESSION_HELP = {
    "*": "there is no operator for powers: write x * x, or (x.log() * p).exp() for x above 0",
    "<": "the bits of integers are shifted by x.shift_left(n)",
    ">": "the bits of integers are shifted by x.shift_right(n)",
    "=": "a comparison is written `==`, `<=` or `>=`",
    "let": "put the binding into parentheses: (let a = … in …)",
    "[": "dimensions stand in an argument only; a tensor literal is tensor<F32, [2]>(1.0, 2.0)",
    "fn": "functions are defined at the top level",
}
