"""Programs and functions, and how the parser goes on after an error.

After an error in a binding it skips to that binding's `in`; after any other, to the next top-level
function. So independent errors show in one run, and one error shows once.
"""

from __future__ import annotations

from kina.frontend.ast import (
    Binding,
    Expr,
    Function,
    Identifier,
    Item,
    Let,
    NamedType,
    ParameterExpr,
    Path,
    Program,
    Record,
    Reverse,
    SizeExpr,
)
from kina.frontend.cursor import Cursor, Panic
from kina.frontend.foreign import ITEMS
from kina.frontend.lexer import Token, TokenKind
from kina.frontend.parse_expressions import ExpressionParser
from kina.frontend.parse_types import parse_named_type
from kina.frontend.report import Report
from kina.frontend.source import IMPORT, Extent
from kina.frontend.steps import run

_EMPTY = "an empty program: expected at least one function"
_ITEM = "`let` and a top-level function, or `type` and a record"
_FUNCTION_HELP = (
    "a function is written `let name = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> {…}`"
)


def parse(tokens: list[Token], report: Report, is_main: bool = True) -> Program:
    """The program of `tokens`; the errors go to `report`, and what they spoil is left out.

    A file that others import may hold nothing but imports, or nothing at all.
    """
    return _Parser(Cursor(tokens, report), report).program(is_main)


class _Parser:
    def __init__(self, cursor: Cursor, report: Report) -> None:
        self._cursor = cursor
        self._report = report
        self._expressions = ExpressionParser(cursor)

    def program(self, is_main: bool) -> Program:
        imports: list[Extent] = []
        while self._cursor.at(IMPORT):
            try:
                imports.append(self._import())
            except Panic:
                self._skip_to_item()
        if is_main and self._cursor.at_end:
            self._report.error(_EMPTY, self._cursor.current.extent, help=_FUNCTION_HELP)
        items: list[Item] = []
        while not self._cursor.at_end:
            try:
                items.append(self._item())
            except Panic:
                self._skip_to_item()
        return Program(tuple(items), tuple(imports))

    def _import(self) -> Extent:
        """The path in `import "layers.kina"`, which has been followed already."""
        self._cursor.advance()
        if not self._cursor.at_kind(TokenKind.PATH):
            raise self._cursor.fail('the path of a file: import "layers.kina"')
        return self._cursor.advance().extent

    def _skip_to_item(self) -> None:
        while self._cursor.skip_to("let", "type") and not self._at_item():
            self._cursor.advance()

    def _at_item(self) -> bool:
        if self._at_record():
            return True
        ahead = self._cursor.ahead
        if not self._cursor.at("let") or ahead(2).text != "=":
            return False
        return ahead(3).text in ("fn", "reverseMode")

    def _at_record(self) -> bool:
        """`type` is a word of the language here only: elsewhere it may be a name."""
        ahead = self._cursor.ahead
        named = ahead(1).kind is TokenKind.NAME and ahead(2).text == "="
        return self._cursor.at("type") and named and ahead(3).text == "{"

    def _item(self) -> Item:
        cursor = self._cursor
        if cursor.at(IMPORT):
            raise cursor.refuse("imports come first in a file", cursor.current.extent)
        if cursor.at("type"):
            return self._record()
        if not cursor.at("let"):
            raise cursor.fail(_ITEM, help=ITEMS.get(cursor.current.text, _FUNCTION_HELP))
        let = cursor.advance()
        name = cursor.identifier("the name of the function")
        cursor.expect("=", " after the name of the function")
        if cursor.accept("fn"):
            return self._function(name)
        if cursor.accept("reverseMode"):
            return self._reverse(let, name)
        raise cursor.fail("`fn` or `reverseMode`", help="only functions are bound at the top level")

    def _function(self, name: Identifier) -> Function:
        cursor = self._cursor
        opened = cursor.expect("(", " and the parameters of the function")
        written = list(cursor.items(opened, ")", self._argument))
        parameters = tuple(each for each in written if isinstance(each, ParameterExpr))
        sizes = tuple(
            SizeExpr(each, position)
            for position, each in enumerate(written)
            if isinstance(each, Identifier)
        )
        cursor.expect("->", " and the type of the result")
        start = cursor.current.start
        results = self._results()
        result_extent = cursor.since(start)
        body = self._body(cursor.expect("{", " and the body of the function"))
        return Function(name, parameters, sizes, results, result_extent, body)

    def _argument(self) -> ParameterExpr | Identifier:
        """A tensor or a record; or the name of a size."""
        ahead = self._cursor.ahead
        if ahead(1).text == ":" and ahead(2).text == "size" and ahead(3).text != "<":
            name = self._cursor.identifier("the name of a parameter")
            self._cursor.advance()
            self._cursor.advance()
            return name
        return self._parameter()

    def _record(self) -> Record:
        cursor = self._cursor
        cursor.advance()
        name = cursor.identifier("the name of the record")
        cursor.expect("=", " after the name of the record")
        opened = cursor.expect("{", " and the fields of the record")
        fields = tuple(cursor.items(opened, "}", lambda: self._parameter("a field")))
        if not fields:
            extent = cursor.since(opened.start)
            help_ = "a field is written `name: tensor<F32, [2]>`"
            raise cursor.refuse("a record has at least one field", extent, help_)
        return Record(name, fields)

    def _parameter(self, what: str = "a parameter") -> ParameterExpr:
        name = self._cursor.identifier(f"the name of {what}")
        self._cursor.expect(":", f" and the type of `{name.name}`")
        return ParameterExpr(name, parse_named_type(self._cursor))

    def _results(self) -> tuple[NamedType, ...]:
        cursor = self._cursor
        opened = cursor.current
        if not cursor.accept("("):
            return (parse_named_type(cursor),)
        types = tuple(cursor.items(opened, ")", lambda: parse_named_type(cursor)))
        if len(types) < 2:
            extent = cursor.since(opened.start)
            raise cursor.refuse(
                "a tuple has at least two items", extent, "write one type without parentheses"
            )
        return types

    def _reverse(self, let: Token, name: Identifier) -> Reverse:
        cursor = self._cursor
        opened = cursor.expect("(", " after `reverseMode`")
        function = cursor.identifier("the name of a function")
        wrt = self._wrt() if cursor.accept(",") and not cursor.at(")") else None
        cursor.expect(")", opened=opened)
        return Reverse(name, cursor.since(let.start), function, wrt)

    def _wrt(self) -> tuple[Path, ...]:
        cursor = self._cursor
        if not cursor.at("wrt"):
            raise cursor.fail("`wrt=[…]`")
        cursor.advance()
        cursor.expect("=", " after `wrt`")
        opened = cursor.expect("[", " and names of parameters")
        names = tuple(cursor.items(opened, "]", self._path))
        if not names:
            raise cursor.refuse("`wrt` names at least one parameter", cursor.since(opened.start))
        cursor.accept(",")
        return names

    def _path(self) -> Path:
        cursor = self._cursor
        first = cursor.identifier("a parameter")
        names = [first.name]
        while cursor.accept("."):
            names.append(cursor.identifier("the name of a field").name)
        return Path(cursor.since(first.extent.start), tuple(names))

    def _body(self, opened: Token) -> Expr:
        """The statements up to `}`; raises `Panic` at the end if one of them was wrong."""
        cursor = self._cursor
        start = cursor.current.start
        bindings: list[Binding] = []
        spoiled = False
        while cursor.at("let"):
            binding = self._statement()
            if binding is None:
                spoiled = True
            else:
                bindings.append(binding)
        self._expressions.reset()
        body = run(self._expressions.expression())
        extent = Extent(start, body.extent.end)
        self._close(opened)
        if spoiled:
            raise Panic
        return Let(extent, tuple(bindings), body) if bindings else body

    def _close(self, opened: Token) -> None:
        cursor = self._cursor
        if cursor.accept("}"):
            return
        note = cursor.note("the body is opened here", opened.extent)
        help_ = "a binding starts with `let`" if cursor.at("=", "in") else None
        raise cursor.fail("an operator or `}`", note, help=help_)

    def _statement(self) -> Binding | None:
        """A binding and its `in`, or None after skipping one that cannot be read."""
        cursor, expressions = self._cursor, self._expressions
        expressions.reset()
        let = cursor.current
        try:
            binding = run(expressions.binding())
            if not cursor.accept("in"):
                self._missing_in(let)
        except Panic:
            if not self._skip_to_in(expressions.open_lets):
                raise
            return None
        return binding

    def _missing_in(self, let: Token) -> None:
        """Reports it; what clearly starts the next statement is then read as one."""
        cursor = self._cursor
        note = cursor.note("the binding starts here", let.extent)
        panic = cursor.fail("an operator, or `in` after the value of the binding", note)
        new_line = self._line(cursor.previous) != self._line(cursor.current)
        if not cursor.at("let") and not (new_line and cursor.at_kind(TokenKind.NAME)):
            raise panic

    def _line(self, token: Token) -> int:
        return self._report.source.position(token.start)[0]

    def _skip_to_in(self, open_lets: int) -> bool:
        """Goes past the `in` of the statement; False if the function ends before it."""
        cursor = self._cursor
        while cursor.skip_to("let", "in", "}") and not cursor.at("}") and not self._at_item():
            token = cursor.advance()
            if token.text == "let":
                open_lets += 1
            elif token.text == "in" and open_lets == 0:
                return True
            elif token.text == "in":
                open_lets -= 1
        return False
