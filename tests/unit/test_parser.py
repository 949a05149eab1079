"""Syntax trees, syntax errors with their places, and how the parser goes on after one.

In the error tables `¦` marks the place that the diagnostic names; it is not part of the text.
"""

import pytest

from kina.errors import Diagnostic, KinaSyntaxError
from kina.frontend import ast
from kina.frontend.check import check
from kina.frontend.lexer import tokenize
from kina.frontend.parse_expressions import MAX_NESTING
from kina.frontend.parser import parse
from kina.frontend.report import Report
from kina.frontend.source import Source

MARK = "¦"
HEAD = "let f = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> {"


def tree(text: str) -> ast.Program:
    report = Report(Source("t.kina", text))
    program = parse(tokenize(report.source, report), report)
    assert not report.failed, report.diagnostics()[0].render()
    return program


def errors(text: str) -> list[Diagnostic]:
    with pytest.raises(KinaSyntaxError) as caught:
        check(Source("t.kina", text))
    return list(caught.value.diagnostics)


def expression(text: str) -> ast.Expr:
    (function,) = tree(f"{HEAD} {text} }}").items
    assert isinstance(function, ast.Function)
    return function.body


def show(node: ast.Expr | ast.Dims) -> str:
    """An expression with every grouping written out."""
    match node:
        case ast.Name():
            return node.name
        case ast.NumberExpr():
            return node.text
        case ast.Negate() | ast.Not():
            return f"({'-' if isinstance(node, ast.Negate) else '!'}{show(node.operand)})"
        case ast.Binary():
            return f"({show(node.left)} {node.symbol} {show(node.right)})"
        case ast.Call():
            arguments = [
                (f"{argument.name.name}=" if argument.name else "") + show(argument.value)
                for argument in node.arguments
            ]
            return f"{node.callee.name}({', '.join(arguments)})"
        case ast.TupleExpr():
            return f"tuple({', '.join(map(show, node.items))})"
        case ast.Literal():
            return f"literal({', '.join(value.text for value in node.values)})"
        case ast.Dims():
            return f"[{', '.join(getattr(d, 'name', None) or d.text for d in node.items)}]"
        case ast.Let():
            bindings = [
                f"{'+'.join(name.name for name in binding.names)}={show(binding.value)}"
                for binding in node.bindings
            ]
            return f"let({', '.join(bindings)}; {show(node.body)})"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x", "x"),
        ("a + b * c - d / e", "((a + (b * c)) - (d / e))"),
        ("a - b - c", "((a - b) - c)"),
        ("a / b * c", "((a / b) * c)"),
        ("a * (b + c)", "(a * (b + c))"),
        ("-a + b", "((-a) + b)"),
        ("a || b && c || d", "((a || (b && c)) || d)"),
        ("a + b < c * d && e", "(((a + b) < (c * d)) && e)"),
        ("a == -b || !c != d", "((a == (-b)) || ((!c) != d))"),
        ("!-!a.f() >= b", "((!(-(!f(a)))) >= b)"),
        ("(a < b) == (c < d)", "((a < b) == (c < d))"),
        ("a<-b", "(a < (-b))"),
        ("f(a > 0, b=c == d)", "f((a > 0), b=(c == d))"),
        ("-a * b", "((-a) * b)"),
        ("a - -b", "(a - (-b))"),
        ("--a", "(-(-a))"),
        ("-a.b(c)", "(-b(a, c))"),
        ("(-a).b()", "b((-a))"),
        ("a.b().c(d)", "c(b(a), d)"),
        ("f(a).g()", "g(f(a))"),
        ("f()", "f()"),
        ("f(a, k=v,)", "f(a, k=v)"),
        ("f(op=argmax, axis=-1)", "f(op=argmax, axis=(-1))"),
        ("x.broadcast([B, 4,])", "broadcast(x, [B, 4])"),
        ("x.broadcast([])", "broadcast(x, [])"),
        ("f(dims=[2])", "f(dims=[2])"),
        ("2.exp()", "exp(2)"),
        ("(a)", "a"),
        ("(a, b)", "tuple(a, b)"),
        ("(a, (b, c),)", "tuple(a, tuple(b, c))"),
        ("(a, b).f()", "f(tuple(a, b))"),
        ("tensor<F32, [2]>(1, -2.5)", "literal(1, -2.5)"),
        ("tensor<F32, [3]>(inf, -inf, nan,)", "literal(inf, -inf, nan)"),
        ("tensor<Bool, [2], @host>(true, false)", "literal(true, false)"),
        ("tensor<F32, []>(1).exp()", "exp(literal(1))"),
        ("let a = b in a", "let(a=b; a)"),
        ("let a = b in let c = d in c", "let(a=b, c=d; c)"),
        ("let (a, b) = c in a", "let(a+b=c; a)"),
        ("let (a, b,) = c in a", "let(a+b=c; a)"),
        ("let a = let b = c in d in a", "let(a=let(b=c; d); a)"),
        ("x + (let a = b in a)", "(x + let(a=b; a))"),
        ("f(let a = b in a, c)", "f(let(a=b; a), c)"),
        ("inf + nan * true", "(inf + (nan * true))"),
        ("wrt + F32", "(wrt + F32)"),
    ],
)
def test_expressions(text: str, expected: str) -> None:
    assert show(expression(text)) == expected


@pytest.mark.parametrize(
    ("text", "covered"),
    [
        ("a + b * c", "a + b * c"),
        ("(a + b) * c", "(a + b) * c"),
        ("-a.b(c)", "-a.b(c)"),
        ("a.b(c)", "a.b(c)"),
        ("( a )", "( a )"),
        ("let a = b in a", "let a = b in a"),
        ("tensor<F32, [1]>(2)", "tensor<F32, [1]>(2)"),
    ],
)
def test_extents(text: str, covered: str) -> None:
    body = expression(text)
    assert f"{HEAD} {text} }}"[slice(*body.extent)] == covered


def test_items() -> None:
    text = "let f = fn(a: tensor<I8, [N], @device>, b: tensor<F32, []>,) -> (tensor<I8, [N]>, "
    text += "tensor<F32, []>,) { a } let g = reverseMode(f) let h = reverseMode(f, wrt=[a, b,],)"
    f, g, h = tree(text).items
    assert isinstance(f, ast.Function)
    assert [parameter.name.name for parameter in f.parameters] == ["a", "b"]
    assert f.parameters[0].type.placement is not None
    assert f.parameters[0].type.placement.name == "device"
    assert len(f.results) == 2
    assert isinstance(g, ast.Reverse)
    assert (g.function.name, g.wrt) == ("f", None)
    assert isinstance(h, ast.Reverse)
    assert h.wrt is not None
    assert [str(path) for path in h.wrt] == ["a", "b"]


def place(marked: str) -> tuple[str, int, int]:
    """The text without its mark, and the line and column of the mark."""
    before, _, after = marked.partition(MARK)
    line = before.count("\n") + 1
    return before + after, line, len(before) - before.rfind("\n")


def assert_single_error(marked: str, *fragments: str) -> None:
    text, line, column = place(marked)
    first, *others = errors(text)
    assert first.span is not None
    assert (first.span.line, first.span.column) == (line, column), first.render()
    shown = first.render()
    for fragment in fragments:
        assert fragment in shown
    assert not others, others[0].render()


@pytest.mark.parametrize(
    ("marked", "fragments"),
    [
        ("¦", ["an empty program: expected at least one function"]),
        ("¦\n\n", ["an empty program"]),
        ("¦// only a comment", ["an empty program"]),
        ("¦x", ["expected `let` and a top-level function, or `type` and a record, found name `x`"]),
        ("¦fn f() {}", ["expected `let`", "help: a function is written `let name = fn("]),
        ("let ¦= fn", ["expected the name of the function, found `=`"]),
        ("let ¦in = fn", ["found reserved word `in`"]),
        ("let f ¦fn", ["expected `=` after the name of the function"]),
        ("let f = ¦2", ["expected `fn` or `reverseMode`, found number `2`"]),
        ("let f = fn¦", ["expected `(` and the parameters", "found the end of the file"]),
        ("let f = fn(¦1)", ["expected the name of a parameter, found number `1`"]),
        ("let f = fn(x¦)", ["expected `:` and the type of `x`, found `)`"]),
        ("let f = fn(x: tensor<F32, [2]> ¦y", ["expected `)`", "note: `(` is opened here"]),
        ("let f = fn(x: tensor¦[2])", ["expected `<` after `tensor`"]),
        ("let f = fn(x: tensor<¦2>)", ["expected a dtype such as `F32`"]),
        ("let f = fn(x: tensor<F32¦>)", ["expected `,` and dimensions such as `[2, 3]`"]),
        ("let f = fn(x: tensor<F32, ¦2>)", ["expected dimensions such as `[2, 3]`"]),
        ("let f = fn(x: tensor<F32, [¦-1]>)", ["expected a dimension: an integer of at least 1"]),
        ("let f = fn(x: tensor<F32, [¦2.5]>)", ["expected a dimension", "found number `2.5`"]),
        ("let f = fn(x: tensor<F32, [2 ¦3]>)", ["expected `]`", "`[` is opened here"]),
        ("let f = fn(x: tensor<F32, [2], ¦host>)", ["expected a placement: `@host` or `@device`"]),
        ("let f = fn(x: tensor<F32, [2], ¦>)", ["expected a placement"]),
        ("let f = fn(x: tensor<F32, [2], @¦>)", ["expected `host` or `device` after `@`"]),
        ("let f = fn(x: tensor<F32, [2]¦)", ["expected `>`", "`<` is opened here"]),
        ("let f = fn() ¦{ x }", ["expected `->` and the type of the result"]),
        ("let f = fn() -> ¦(tensor<F32, [2]>) { x }", ["a tuple has at least two items"]),
        ("let f = fn() -> tensor<F32, [2]> ¦x", ["expected `{` and the body of the function"]),
        (f"{HEAD} ¦}}", ["expected an expression, found `}`"]),
        (f"{HEAD} x¦", ["expected an operator or `}`", "the body is opened here"]),
        (f"{HEAD} x ¦x }}", ["expected an operator or `}`, found name `x`"]),
        (f"{HEAD} y ¦= x in y }}", ["help: a binding starts with `let`"]),
        (f"{HEAD} x + ¦}}", ["expected an expression, found `}`"]),
        (f"{HEAD} ¦* x }}", ["expected an expression, found `*`"]),
        (f"{HEAD} (x ¦}}", ["expected `)`, found `}`", "note: `(` is opened here"]),
        (f"{HEAD} ¦(x,) }}", ["a tuple has at least two items", "drop the comma"]),
        (f"{HEAD} (¦) }}", ["expected an expression, found `)`"]),
        (f"{HEAD} x + ¦let a = x in a }}", ["put the binding into parentheses"]),
        (f"{HEAD} ¦[1, 2] }}", ["help: dimensions stand in an argument only"]),
        (f"{HEAD} x.¦() }}", ["expected the name of an operation, function or field after `.`"]),
        (f"{HEAD} x.f(a ¦b) }}", ["expected `)`, found name `b`", "`(` is opened here"]),
        (f"{HEAD} x.f(axis=¦) }}", ["expected an expression, found `)`"]),
        (f"{HEAD} f(¦,) }}", ["expected an expression, found `,`"]),
        (f"{HEAD} let a = ¦fn() -> x in a }}", ["functions are defined at the top level"]),
        (f"{HEAD} let ¦1 = x in x }}", ["expected a name, or a pattern such as `(a, b)`"]),
        (f"{HEAD} let ¦(a) = x in x }}", ["a pattern in parentheses binds at least two names"]),
        (f"{HEAD} let a ¦x in x }}", ["expected `=` after the name of the binding"]),
        (f"{HEAD} let a = x ¦}}", ["or `in` after the value", "note: the binding starts here"]),
        (f"{HEAD} x + (let a = x ¦a) }}", ["expected `in` after the value of the binding"]),
        (f"{HEAD} tensor<F32, [1]>(¦) }}", ["expected a value: a number, `inf`"]),
        (f"{HEAD} tensor<F32, [1]>(¦x) }}", ["expected a value", "found name `x`"]),
        (f"{HEAD} tensor<F32, [1]>(-¦nan) }}", ["expected a number or `inf`"]),
        (f"{HEAD} tensor<F32, [1]> ¦}}", ["expected `(` and the values of the tensor literal"]),
        (
            f"{HEAD} x }} ¦}}",
            ["expected `let` and a top-level function, or `type` and a record, found `}`"],
        ),
        ("let g = reverseMode ¦f", ["expected `(` after `reverseMode`"]),
        ("let g = reverseMode(f, ¦[x])", ["expected `wrt=[…]`"]),
        ("let g = reverseMode(f, wrt=¦x)", ["expected `[` and names of parameters"]),
        ("let g = reverseMode(f, wrt=¦[])", ["`wrt` names at least one parameter"]),
        ("let g = reverseMode(f¦", ["expected `)`", "`(` is opened here"]),
        (f"{HEAD}\r\n\tx ¦$ x }}", ["unexpected `$`"]),
    ],
)
def test_one_mistake_is_one_error(marked: str, fragments: list[str]) -> None:
    assert_single_error(marked, *fragments)


def lines(text: str) -> list[int]:
    return [problem.span.line for problem in errors(text) if problem.span is not None]


def test_every_statement_and_function_reports_its_own_error() -> None:
    text = f"""{HEAD}
  let a = x + in
  let b = (let q = ) in q) in
  let c = f(x in
  let d = let e = x in e in
  let = x in
  x x
}}
let g = fn(x: tensor<F32 [2]>) -> tensor<F32, [2]> {{
  x +
}}
let h = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> {{
  let a = x * * x in
  a
}}
"""
    assert lines(text) == [2, 3, 4, 6, 7, 9, 13]


def test_a_missing_in_is_one_error() -> None:
    assert lines(f"{HEAD}\n let a = x\n let b = a in\n b }}") == [3]
    assert lines(f"{HEAD}\n let a = x\n a }}") == [3]


def test_a_missing_brace_does_not_hide_the_next_function() -> None:
    second = "let g = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> { x + }"
    assert lines(f"{HEAD} let a = x in a\n{second}\n") == [2, 2]
    assert lines(f"{HEAD} let a = (x in\n{second}\n") == [1, 2]


def test_a_function_inside_a_function_is_one_error() -> None:
    inner = "let g = fn(y: tensor<F32, [2]>) -> tensor<F32, [2]> { let b = y in b } in g(x)"
    assert lines(f"{HEAD}\n{inner}\n}}\n") == [2]


@pytest.mark.parametrize(
    ("opening", "closing"),
    [("(", ")"), ("exp(", ")"), ("let a = ", " in a"), ("-(", ")"), ("x + (", ")")],
)
def test_nesting_has_a_limit(opening: str, closing: str) -> None:
    def text(depth: int) -> str:
        return f"{HEAD}{opening * depth}x{closing * depth}}}"

    check(Source("t.kina", text(MAX_NESTING)))
    for depth in (MAX_NESTING + 1, 10_000):
        first, *others = errors(text(depth))
        assert first.message == f"nested too deeply: at most {MAX_NESTING} levels"
        assert not others


@pytest.mark.parametrize("term", [" + x", ".exp()", " * x - x", "\n"])
def test_long_is_not_deep(term: str) -> None:
    check(Source("t.kina", f"{HEAD} x{term * 3000} }}"))


def test_long_chains_of_bindings_and_minuses() -> None:
    check(Source("t.kina", HEAD + "let x = -x in " * 3000 + "x }"))
    check(Source("t.kina", HEAD + "-" * MAX_NESTING + "x }"))
    assert "nested too deeply" in errors(HEAD + "-" * 10_000 + "x }")[0].message
