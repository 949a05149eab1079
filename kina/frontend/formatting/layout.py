"""From the tokens of a program that was parsed without an error to a document.

The tokens stay as they are and in their order; only what stands between them is chosen anew. The
rules follow the grammar of docs/language.md. Lines of its author's that stay are only those after
the `{` of a body or a record.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kina.frontend.formatting.document import Doc, Group, Indent, Line
from kina.frontend.lexer import Token, TokenKind
from kina.frontend.parse_expressions import POWERS, PREFIXES
from kina.frontend.source import IMPORT
from kina.frontend.steps import Steps, run

_CLOSING = {"(": ")", "[": "]", "{": "}"}


class _Value(NamedTuple):
    """An expression laid out."""

    parts: tuple[Doc, ...]
    closed: bool = True
    """Whether it breaks only in brackets at its end: then it need not begin a line."""


class Layout:
    """Reads tokens and lays them out; `places` collects the tokens that may begin a line."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._next = 0
        self.places: set[int] = set()

    def program(self) -> list[Doc]:
        """Imports, functions and records, each on lines of their own."""
        out: list[Doc] = []
        while self._tokens[self._next].kind is not TokenKind.END:
            out += [self._line("", hard=True), *self._item()]
        return [*out, self._line("", hard=True)]

    def _line(self, flat: str, *, hard: bool = False, token: int | None = None) -> Line:
        """A line that the next token, or the given one, may begin."""
        first = self._next if token is None else token
        self.places.add(first)
        return Line(flat, first, hard)

    def _at(self, *texts: str) -> bool:
        return self._tokens[self._next].text in texts

    def _on_new_line(self) -> bool:
        """Whether the next token is on another line than the one before it."""
        before, after = self._tokens[self._next - 1 : self._next + 1]
        return "\n" in self._text[before.end : after.start]

    def _take(self) -> str:
        self._next += 1
        return self._tokens[self._next - 1].text

    # -- What is at the top level.

    def _item(self) -> list[Doc]:
        if self._at(IMPORT):
            return [f"{self._take()} {self._take()}"]
        head = f"{self._take()} {self._take()} {self._take()} "
        if self._at("{"):
            return [head, self._list(self._field, flat=" ")]
        if self._at("reverseMode"):
            return [head, self._take(), self._list(self._reversed)]
        return [head, self._take(), *self._function()]

    def _function(self) -> list[Doc]:
        parameters = self._list(self._field)
        arrow = f" {self._take()} "
        results = self._list(self._type) if self._at("(") else self._type()
        opened = f" {self._take()}"
        many = self._at("let") or self._on_new_line()
        first = self._line(" ", hard=many)
        body = run(self._statements(hard=True))
        last = self._line(" ", hard=many)
        inside = Indent((first, *body.parts))
        return [Group((parameters, arrow, results, opened, inside, last, self._take()))]

    def _field(self) -> Doc:
        """`name: type`, where a comma ends it."""
        name, colon = self._take(), self._take()
        return f"{name}{colon} {self._type()}"

    def _reversed(self) -> Doc:
        """A function's name, or `wrt=[…]`."""
        name = self._word()
        return Group((f"{name}{self._take()}", self._list(self._word))) if self._at("=") else name

    def _word(self) -> str:
        """A name, or a path of names."""
        text = self._take()
        while self._at("."):
            text += self._take() + self._take()
        return text

    def _list(self, item: Callable[[], Doc], flat: str = "") -> Group:
        """Items between brackets: on one line, or each on its own."""
        opened = self._take()
        closing = _CLOSING[opened]
        hard = opened == "{" and self._on_new_line()
        inside: list[Doc] = []
        while not self._at(closing):
            inside += [self._line(" " if inside else flat, hard=hard), item()]
            if self._at(","):
                inside.append(self._take())
        if not inside:
            return Group((opened, self._take()))
        last = self._line(flat, hard=hard)
        return Group((opened, Indent(tuple(inside)), last, self._take()))

    # -- Types and dimensions, which are never broken.

    def _type(self) -> str:
        text = self._take()
        return text + self._angles() if self._at("<") else text

    def _angles(self) -> str:
        """`<F32, [B, T + 1], @host>`, `<D=4>`."""
        text = self._take()
        while not self._at(">"):
            text += self._dims() if self._at("[") else self._dim(",", ">")
            if self._at(","):
                text += self._take() + " " * (not self._at(">"))
        return text + self._take()

    def _dims(self) -> str:
        text = self._take()
        while not self._at("]"):
            text += self._dim(",", "]")
            if self._at(","):
                text += self._take() + " " * (not self._at("]"))
        return text + self._take()

    def _dim(self, *ends: str) -> str:
        text = ""
        while not self._at(*ends):
            token = self._take()
            text += f" {token} " if token in ("+", "-", "*") else token
        return text

    # -- Expressions.

    def _statements(self, *, hard: bool) -> Steps[_Value]:
        """Bindings, each on its line, and the value of them all; `hard` if always so."""
        bindings: list[Doc] = []
        while self._at("let"):
            bindings += yield self._binding()
            bindings.append(self._line(" ", hard=hard))
        value: _Value = yield self._expression(Indent)
        return _Value((*bindings, *value.parts), value.closed)

    def _binding(self) -> Steps[list[Doc]]:
        let = f"{self._take()} "
        pattern = self._list(self._word) if self._at("(") else self._take()
        equals = f" {self._take()}"
        first = self._next
        nested = self._at("let")
        value: _Value = yield (self._statements(hard=True) if nested else self._expression(Group))
        ended = f" {self._take()}"
        if value.closed and not nested:
            return [let, pattern, equals, " ", *value.parts, ended]
        line = self._line(" ", hard=nested, token=first)
        return [let, pattern, equals, Group((Indent((line, *value.parts)),)), ended]

    def _expression(self, further: type[Indent | Group]) -> Steps[_Value]:
        """Operands and operators; `further` holds the lines after the first."""
        operands: list[_Value] = []
        operators: list[tuple[str, Line]] = []
        while True:
            operands.append((yield self._operand()))
            if self._tokens[self._next].text not in POWERS:
                break
            line = Line(" ", self._next)
            operators.append((self._take(), line))
        return self._chain(operands, operators, further)

    def _chain(
        self,
        operands: list[_Value],
        operators: list[tuple[str, Line]],
        further: type[Indent | Group],
    ) -> _Value:
        """Breaks at the operators that bind least; what they join breaks for itself."""
        if not operators:
            return operands[0]
        least = min(POWERS[text] for text, _ in operators)
        cuts = [index for index, (text, _) in enumerate(operators) if POWERS[text] == least]
        parts: list[list[Doc]] = []
        start = 0
        for cut in [*cuts, len(operators)]:
            inner = self._chain(operands[start : cut + 1], operators[start:cut], Indent)
            parts.append(list(inner.parts))
            start = cut + 1
        rest: list[Doc] = []
        for cut, part in zip(cuts, parts[1:], strict=True):
            text, line = operators[cut]
            self.places.add(line.token)
            rest += [line, f"{text} ", *part]
        follows: tuple[Doc, ...] = (Indent(tuple(rest)),) if further is Indent else tuple(rest)
        return _Value((Group((*parts[0], *follows)),), closed=False)

    def _operand(self) -> Steps[_Value]:
        """Prefixes, a value, and what is asked of it after dots."""
        prefix = ""
        while self._at(*PREFIXES):
            prefix += self._take()
        head: list[Doc] = [prefix, *(yield self._primary())]
        dots: list[list[Doc]] = []
        places: list[int] = []
        while self._at("."):
            places.append(self._next)
            dot = self._take() + self._take()
            dots.append([dot, *((yield self._call()) if self._at("(") else [])])
        return self._dotted(head, dots, places)

    def _dotted(self, head: list[Doc], dots: list[list[Doc]], places: list[int]) -> _Value:
        """A chain of calls breaks before its dots, a single call inside its brackets."""
        kept = next((index for index, dot in enumerate(dots) if len(dot) > 1), len(dots))
        if isinstance(head[-1], str):
            kept += 1
        for dot in dots[:kept]:
            head += dot
        if not dots[kept:]:
            return _Value(tuple(head))
        rest: list[Doc] = []
        for dot, place in zip(dots[kept:], places[kept:], strict=True):
            rest += [self._line("", token=place), *dot]
        return _Value((Group((*head, Indent(tuple(rest)))),), closed=False)

    def _primary(self) -> Steps[list[Doc]]:
        if self._at("("):
            return (yield self._call())
        word = self._take()
        if word == "tensor":
            return [word + self._angles(), self._values()]
        return [word, *((yield self._call()) if self._at("(") else [])]

    def _call(self) -> Steps[list[Doc]]:
        """Arguments, a tuple, or an expression in parentheses.

        If they need lines of their own, one will do, or else each has one.
        """
        opened = self._take()
        if self._at(")", "]"):
            return [opened + self._take()]
        inside: list[Doc] = []
        first = self._line("")
        while not self._at(")", "]"):
            if inside:
                inside.append(self._line(" "))
            name = ""
            if self._tokens[self._next + 1].text == "=":
                name = self._take() + self._take()
            value: _Value = yield self._argument()
            inside += [name, *value.parts]
            if self._at(","):
                inside.append(self._take())
        within = Indent((first, Group(tuple(inside))))
        return [Group((opened, within, self._line(""), self._take()))]

    def _argument(self) -> Steps[_Value]:
        """An expression, bindings and all, or a list in brackets."""
        if self._at("["):
            return _Value(tuple((yield self._call())))
        return (yield self._statements(hard=False))

    def _values(self) -> Doc:
        """The numbers of a tensor literal: as many on a line as there is room for."""
        opened = self._take()
        inside: list[Doc] = [self._line("")]
        while not self._at(")"):
            line = self._line(" ")
            sign = self._take() if self._at("-") else ""
            text = sign + self._take() + (self._take() if self._at(",") else "")
            inside.append(Group((line, text)) if len(inside) > 1 else text)
        return Group((opened, Indent(tuple(inside)), self._line(""), self._take()))
