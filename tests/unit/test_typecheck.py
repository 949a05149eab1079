"""The type rules of the language: what is accepted with which type, what is refused and where.

In the error tables `¦` marks the place that the first diagnostic names; it is not part of the text.
"""

import pytest

from kina.errors import Diagnostic, KinaTypeError
from kina.frontend.check import check
from kina.frontend.source import Source
from kina.frontend.typed import Apply, CallFunction, Constant, TypedFunction
from kina.types import Type

MARK = "¦"
PARAMETERS = """
  x: tensor<F32, [2, 3]>, y: tensor<F32, [3]>, h: tensor<F16, [2, 3]>, e: tensor<F8E4M3, [2, 3]>,
  n: tensor<I32, [2, 3]>, s: tensor<I8, [3]>, t: tensor<I64, [2]>, b: tensor<Bool, [2, 3]>,
  r: tensor<F32, []>, d: tensor<F32, [2, 3], @device>, dt: tensor<I64, [2], @device>,
  z: tensor<F32, [B, T, V]>, zt: tensor<I64, [B, T]>, c: tensor<F32, [1, 4, 8]>
"""
LIBRARY = """
let pair = fn(p: tensor<F32, [N, M]>, q: tensor<F32, [M]>) -> (tensor<F32, [N]>, tensor<F32, [M]>) {
  (p.reduce(op=sum, axis=1), q)
}
let square = fn(p: tensor<F32, [N, N]>) -> tensor<F32, [N, N]> { p }
let three = fn(p: tensor<F32, [3]>) -> tensor<F32, [3]> { p }
let answer = fn() -> tensor<I32, []> { tensor<I32, []>(42) }
"""


def program(body: str, result: str) -> str:
    return f"{LIBRARY}let main = fn({PARAMETERS}) -> {result} {{\n{body}\n}}"


def accept(body: str, result: str) -> TypedFunction:
    functions = check(Source("t.kina", program(body, result))).functions
    return functions[-1]


def errors(text: str) -> list[Diagnostic]:
    with pytest.raises(KinaTypeError) as caught:
        check(Source("t.kina", text))
    return list(caught.value.diagnostics)


def refuse(marked: str) -> list[Diagnostic]:
    """The errors of a whole program, after checking that the first stands at the mark."""
    before, mark, after = marked.partition(MARK)
    assert mark
    found = errors(before + after)
    first = found[0]
    assert first.span is not None
    expected = before.count("\n") + 1, len(before) - before.rfind("\n")
    assert (first.span.line, first.span.column) == expected, first.render()
    return found


@pytest.mark.parametrize(
    ("body", "result"),
    [
        ("x", "tensor<F32, [2, 3]>"),
        ("-x", "tensor<F32, [2, 3]>"),
        ("-n", "tensor<I32, [2, 3]>"),
        ("x + x * x - x / x", "tensor<F32, [2, 3]>"),
        ("n * n - n + n", "tensor<I32, [2, 3]>"),
        ("add(x, x)", "tensor<F32, [2, 3]>"),
        ("x.sub(x).mul(x).div(x).neg()", "tensor<F32, [2, 3]>"),
        ("sqrt(log(exp(h)))", "tensor<F16, [2, 3]>"),
        ("e.exp() + e", "tensor<F8E4M3, [2, 3]>"),
        ("d + d", "tensor<F32, [2, 3], @device>"),
        ("-z.exp()", "tensor<F32, [B, T, V]>"),
        ("y.broadcast([2, 3])", "tensor<F32, [2, 3]>"),
        ("y.broadcast([B, T, 3])", "tensor<F32, [B, T, 3]>"),
        ("r.broadcast([])", "tensor<F32, []>"),
        ("r.broadcast([2, 1])", "tensor<F32, [2, 1]>"),
        ("broadcast(dims=[2, 3], operand=y)", "tensor<F32, [2, 3]>"),
        ("b.reshape([3, 2])", "tensor<Bool, [3, 2]>"),
        ("r.reshape([1, 1])", "tensor<F32, [1, 1]>"),
        ("z.reshape([V, 1, T, B])", "tensor<F32, [V, 1, T, B]>"),
        ("x.reduce(op=sum, axis=0)", "tensor<F32, [3]>"),
        ("n.reduce(op=max, axis=1)", "tensor<I32, [2]>"),
        ("s.reduce(axis=0, op=min)", "tensor<I8, []>"),
        ("e.reduce(op=mean, axis=1)", "tensor<F8E4M3, [2]>"),
        ("d.reduce_keep(op=sum, axis=1)", "tensor<F32, [2, 1], @device>"),
        ("x.reduce(op=argmax, axis=1)", "tensor<I64, [2]>"),
        ("n.reduce_keep(op=argmax, axis=0)", "tensor<I64, [1, 3]>"),
        ("c.reduce(op=argmax, axis=2)", "tensor<I64, [1, 4]>"),
        ("z.reduce(op=argmax, axis=1)", "tensor<I64, [B, V]>"),
        ("x.softmax(axis=0)", "tensor<F32, [2, 3]>"),
        ("d.log_softmax(axis=1)", "tensor<F32, [2, 3], @device>"),
        ("log_softmax(z, axis=1)", "tensor<F32, [B, T, V]>"),
        ("x.gather(t)", "tensor<F32, [2, 3]>"),
        ("b.gather(zt)", "tensor<Bool, [B, T, 3]>"),
        ("x.take_along_axis(t, axis=1)", "tensor<F32, [2]>"),
        ("z.take_along_axis(zt, axis=2)", "tensor<F32, [B, T]>"),
        ("take_along_axis(axis=2, indices=zt, values=z)", "tensor<F32, [B, T]>"),
        ("x.cast(Bool)", "tensor<Bool, [2, 3]>"),
        ("cast(b, F8E5M2)", "tensor<F8E5M2, [2, 3]>"),
        ("n.cast(dtype=I4)", "tensor<I4, [2, 3]>"),
        ("x * 2 + 0.5", "tensor<F32, [2, 3]>"),
        ("2 / x", "tensor<F32, [2, 3]>"),
        ("-2.0 * x", "tensor<F32, [2, 3]>"),
        ("(1 + 2) * n", "tensor<I32, [2, 3]>"),
        ("(1 / 3) * x", "tensor<F32, [2, 3]>"),
        ("(5 / 2 * 2) * n", "tensor<I32, [2, 3]>"),
        ("s + -128", "tensor<I8, [3]>"),
        ("s * 2.0", "tensor<I8, [3]>"),
        ("r + 1", "tensor<F32, []>"),
        ("d * 2", "tensor<F32, [2, 3], @device>"),
        ("1 - z", "tensor<F32, [B, T, V]>"),
        ("add(1, x)", "tensor<F32, [2, 3]>"),
        ("tensor<I8, [2, 2]>(1, -2, 3, -128)", "tensor<I8, [2, 2]>"),
        ("tensor<F32, [B, T]>(0.5)", "tensor<F32, [B, T]>"),
        ("tensor<F32, [], @device>(inf)", "tensor<F32, [], @device>"),
        ("let log = x in log(log)", "tensor<F32, [2, 3]>"),
        ("let x = y in let x = x.exp() in x", "tensor<F32, [3]>"),
        ("(let x = y in x).broadcast([2, 3]) + x", "tensor<F32, [2, 3]>"),
        ("let F32 = x in F32.cast(F32)", "tensor<F32, [2, 3]>"),
        ("let three = y in three(three)", "tensor<F32, [3]>"),
        ("y.three().three()", "tensor<F32, [3]>"),
        ("(x < 2.5) == !(1 > x) && b || x != x", "tensor<Bool, [2, 3]>"),
        ("b < b", "tensor<Bool, [2, 3]>"),
        ("(t == -100).select(0, t)", "tensor<I64, [2]>"),
        ("select(d > 0, on_false=d, on_true=-1)", "tensor<F32, [2, 3], @device>"),
        ("x.clamp(0, x.abs()).maximum(-1).minimum(x)", "tensor<F32, [2, 3]>"),
        ("clamp(0, x, high=1)", "tensor<F32, [2, 3]>"),
        ("n.div(3).rem(n).bit_and(7).shift_left(n)", "tensor<I32, [2, 3]>"),
        ("b.stop_gradient()", "tensor<Bool, [2, 3]>"),
        ("three(p=y)", "tensor<F32, [3]>"),
        ("pair(x, y)", "(tensor<F32, [2]>, tensor<F32, [3]>)"),
        ("x.pair(y)", "(tensor<F32, [2]>, tensor<F32, [3]>)"),
        ("pair(q=y, p=x)", "(tensor<F32, [2]>, tensor<F32, [3]>)"),
        (
            "let (a, b) = pair(x, y) in (b, a, b)",
            "(tensor<F32, [3]>, tensor<F32, [2]>, tensor<F32, [3]>)",
        ),
        ("let a = pair(x, y) in let (b, c) = a in c", "tensor<F32, [3]>"),
        ("let (a, b) = (x, (y, t)) in let (c, e) = b in e", "tensor<I64, [2]>"),
        ("answer()", "tensor<I32, []>"),
        ("square(r.broadcast([V, V]))", "tensor<F32, [V, V]>"),
    ],
)  # fmt: skip
def test_accepted(body: str, result: str) -> None:
    function = accept(body, result)
    assert str(function.signature.result) == result
    assert [value.type for value in function.results] == list(function.signature.results)


@pytest.mark.parametrize(
    ("body", "fragments"),
    [
        # Operand dtypes and shapes.
        ("exp(¦n)", ["exp: operand has dtype I32", "`n` has type tensor<I32, [2, 3]>"]),
        ("-¦b", ["neg: operand has dtype Bool"]),
        ("¦b + b", ["add: left has dtype Bool"]),
        ("¦n / n", ["`/`: left has dtype I32, expected F16", "x.div(y) divides integers"]),
        ("2 / ¦n", ["`/`: right has dtype I32, expected F16"]),
        ("¦x.rem(x)", ["rem: left has dtype F32, expected I64", ".cast(I32)"]),
        ("x.maximum(¦h)", ["maximum: left has dtype F32 and right has dtype F16"]),
        ("x < ¦y", ["less: left has shape [2, 3] and right has shape [3]", ".broadcast([2, 3])"]),
        ("¦x && b", ["logical_and: left has dtype F32, expected Bool", "a comparison"]),
        ("!¦x", ["logical_not: operand has dtype F32, expected Bool"]),
        ("!¦1", ["the number 1 has no dtype"]),
        ("x * ¦(x > 0)", ["left has dtype F32 and right has dtype Bool", "condition.select(a, b)"]),
        ("b == ¦1", ["1 is no value of Bool", "`b` or `!b`"]),
        ("x * (1 ¦< 2)", ["`<` between two numbers has no shape"]),
        ("n < ¦1.5", ["1.5 is not representable in I32"]),
        ("¦x.select(x, x)", ["select: condition has dtype F32, expected Bool"]),
        ("b.select(x, ¦n)", ["on_true has dtype F32 and on_false has dtype I32"]),
        ("b.select(¦y, y)", ["condition has shape [2, 3] and on_true has shape [3]"]),
        ("b.select(¦1, 0)", ["the number 1 has no dtype"]),
        ("x.clamp(0, ¦y)", ["clamp: operand has shape [2, 3] and high has shape [3]"]),
        ("n.clamp(¦0.5, 1)", ["0.5 is not representable in I32"]),
        ("x + ¦n", ["left has dtype F32 and right has dtype I32", "there are no implicit conv"]),
        ("x * ¦y", ["left has shape [2, 3] and right has shape [3]", ".broadcast([2, 3])"]),
        ("x * ¦(y + y)", ["expected equal shapes"]),
        ("z + ¦z.reshape([T, B, V])", ["[B, T, V]", "[T, B, V]", "expected equal shapes"]),
        ("x + ¦d", ["add: right is on @device, expected @host"]),
        # The seeds' refusals.
        ("¦n.log_softmax(axis=1)", ["log_softmax: operand has dtype I32"]),
        ("x.log_softmax(axis=¦2)", ["axis=2 is out of range for shape [2, 3]"]),
        ("x.log_softmax(axis=¦-1)", ["help: count from 0: here axis=1"]),
        ("x.log_softmax(axis=¦-3)", ["axis=-3 is out of range"]),
        ("r.softmax(axis=¦0)", ["a rank-0 tensor has no axis"]),
        ("¦y.take_along_axis(r.cast(I64), axis=0)", ["values have shape [3], expected rank 2"]),
        ("x.take_along_axis(¦n, axis=1)", ["indices have dtype I32, expected I64"]),
        ("c.take_along_axis(¦t, axis=2)", ["indices have shape [2], expected [1, 4] (values"]),
        ("z.take_along_axis(¦zt, axis=1)", ["indices have shape [B, T], expected [B, V]"]),
        ("x.take_along_axis(t, axis=¦2)", ["axis=2 is out of range"]),
        ("¦d.take_along_axis(dt, axis=1)", ["take_along_axis: operand is on @device"]),
        ("x.take_along_axis(¦dt, axis=1)", ["indices is on @device", "expected @host"]),
        ("¦d.gather(dt)", ["gather: operand is on @device"]),
        ("¦z.gather(zt)", ["gather: values have shape [B, T, V], expected rank 2", "take_along"]),
        ("x.gather(¦n)", ["gather: indices have dtype I32, expected I64"]),
        ("¦b.reduce(op=argmax, axis=1)", ["reduce argmax: operand has dtype Bool"]),
        ("¦d.reduce(op=argmax, axis=1)", ["reduce argmax: operand is on @device"]),
        ("¦d.reduce(op=argmin, axis=1)", ["reduce argmin: operand is on @device"]),
        ("¦b.reduce(op=prod, axis=1)", ["reduce prod: operand has dtype Bool"]),
        ("¦x.reduce(op=any, axis=1)", ["reduce any: operand has dtype F32, expected Bool"]),
        ("¦b.cumsum(axis=1)", ["cumsum: operand has dtype Bool, expected F16"]),
        ("x.cumsum(axis=¦-1)", ["cumsum: axis=-1 is out of range"]),
        ("¦n.reduce(op=mean, axis=1)", ["reduce mean: operand has dtype I32"]),
        ("x.reduce(op=¦argmaxx, axis=1)", ["unknown op=argmaxx", "did you mean `argmax`?"]),
        ("x.reduce(op=¦2, axis=1)", ["expected one of sum, max, min, mean, argmax, argmin, prod"]),
        # Shapes as arguments.
        ("x.broadcast(¦[3, 3])", ["shape [2, 3] does not broadcast to [3, 3]"]),
        ("x.broadcast([¦0, 3])", ["a dimension is at least 1, found 0"]),
        ("y.broadcast([¦C, 3])", ["symbol `C` is not bound"]),
        ("y.broadcast([¦v, 3])", ["symbol `v` is not bound", "did you mean `V`?"]),
        ("y.broadcast(¦2)", ["expected dimensions in brackets such as [2, 3]"]),
        ("x.reshape(¦[5])", ["has 6 elements and [5] has 5"]),
        ("z.reshape(¦[B, T, T])", ["expected the same number"]),
        ("r.¦broadcast([4294967296, 4294967296])", ["takes more than 2^60 - 1 bytes"]),
        ("r.broadcast([¦99999999999999999999])", ["a dimension is at most 2^63 - 1"]),
        # Arguments.
        ("x.¦softmax()", ["softmax: missing argument `axis`", "help: write axis=…"]),
        ("x.softmax(¦1)", ["unexpected argument", "help: the axis is always named: axis=…"]),
        ("x.reduce(¦max, axis=1)", ["help: the reduction is always named: op=max"]),
        ("x.softmax(¦dim=1)", ["unknown argument `dim`, expected", "did you mean `axis`?"]),
        ("x.softmax(¦axs=1)", ["unknown argument `axs`", "did you mean `axis`?"]),
        ("x.softmax(axis=1, ¦axis=0)", ["argument `axis` is given twice", "note: the first one"]),
        ("x.exp(¦operand=x)", ["exp: argument `operand` is given twice"]),
        ("x.softmax(axis=1, ¦x)", ["a positional argument stands after a named one"]),
        ("¦exp()", ["exp: missing argument `operand`"]),
        ("exp(x, ¦x)", ["exp: unexpected argument, expected 1 positional argument (`operand`)"]),
        ("x.softmax(axis=¦1.5)", ["the axis is not a compile-time integer"]),
        ("x.softmax(axis=¦t)", ["the axis is not a compile-time integer"]),
        ("x.softmax(axis=¦[1])", ["the axis is not a compile-time integer"]),
        ("x.softmax(axis=¦99999999999999999999)", ["the axis has more than 19 digits"]),
        ("exp(¦[2])", ["exp: operand is a list of dimensions, expected a tensor"]),
        ("x.cast(¦F64)", ["F64 is reserved"]),
        ("x.cast(¦f16)", ["unknown dtype `f16`", "did you mean `F16`?"]),
        ("x.cast(¦int32)", ["unknown dtype `int32`", "did you mean `I32`?"]),
        ("x.cast(¦bool)", ["did you mean `Bool`?"]),
        ("x.cast(¦2)", ["cast: expected a dtype such as F32"]),
        # Numbers.
        ("¦2.0", ["the number 2 has no dtype and no shape here"]),
        ("¦exp(2.5)", ["the number exp(2.5) has no dtype", "write exp(2.5).cast(F32)"]),
        ("let a = 1 + 2 in ¦a", ["the number 3 has no dtype"]),
        ("let (a, b) = ¦1 in x", ["the number 1 has no dtype"]),
        ("¦B", ["the number B has no dtype", "write B.cast(F32)"]),
        ("¦1 / (B + 1)", ["the number 1 / (B + 1) has no dtype", "write (1 / (B + 1)).cast(F32)"]),
        ("¦-inf", ["the number -inf has no dtype", "tensor<F32, []>(-inf)"]),
        ("n + ¦inf", ["inf is no value of I32", "its greatest value is 2147483647", "`n` has"]),
        ("s.maximum(¦-inf)", ["-inf is no value of I8", "its least value is -128"]),
        ("s + ¦nan", ["nan is no value of I8: only floating dtypes have it"]),
        ("e + ¦inf", ["F8E4M3 has no infinity", "its greatest value is 448"]),
        ("(B ¦/ 0) * x", ["division by zero"]),
        ("x * (B ¦< 2)", ["`<` between two numbers has no shape"]),
        ("s + ¦(B + 128)", ["B + 128 is too large for I8: at most 127"]),
        ("s + ¦(-B - 128)", ["-B - 128 is too small for I8: at least -128"]),
        ("n + ¦(1 / B)", ["1 / B is no value of I32: it is computed in F32", ".cast(F32)"]),
        ("(x > 0) == ¦B", ["the size B is no value of Bool"]),
        ("x.slice(axis=0, start=¦(B + 2), size=1)", ["slice: size 1 of axis 0", "from B + 2 on"]),
        ("x.slice(axis=0, start=¦sqrt(B), size=1)", ["sqrt(B) is no value of I64"]),
        ("(¦1, x)", ["the number 1 has no dtype"]),
        ("n * ¦2.5", ["2.5 is not representable in I32, expected an integer from -2147483648"]),
        ("s + ¦300", ["300 is not representable in I8", "`s` has type tensor<I8, [3]>"]),
        ("e * ¦1000", ["1000 is too large for F8E4M3: at most 448"]),
        ("(1 ¦/ 0) * x", ["division by zero"]),
        ("¦n / 2.5", ["`/`: left has dtype I32, expected F16", "x.div(y) divides integers"]),
        # Literals.
        ("tensor<¦F64, [1]>(1)", ["F64 is reserved"]),
        ("tensor<F32, [2, 2]>(1, 2, ¦3)", ["3 values for shape [2, 2], expected 4, or one"]),
        ("tensor<F32, [2]>(1, 2, ¦3)", ["3 values for shape [2], expected 2"]),
        ("tensor<F32, []>(1, ¦2)", ["2 values for shape [], expected 1"]),
        ("tensor<F32, [B]>(1, ¦2)", ["a literal with symbolic dimensions takes one value"]),
        ("tensor<F32, [¦C]>(1)", ["symbol `C` is not bound"]),
        ("tensor<I4, [2]>(7, ¦8)", ["8 is not representable in I4"]),
        ("tensor<I32, [1]>(¦nan)", ["`nan` is not a value of I32"]),
        ("tensor<Bool, [1]>(¦1)", ["a value of Bool is `true` or `false`, found 1"]),
        ("tensor<F8E4M3, [1]>(¦-inf)", ["F8E4M3 has no infinity"]),
        # Names.
        ("¦q + x", ["unknown name `q`"]),
        ("¦log + x", ["`log` is an operation, expected a tensor", "call it: log(…)"]),
        ("¦pair + x", ["`pair` is a function, expected a tensor"]),
        ("¦main + x", ["`main` is a function, expected a tensor"]),
        ("¦F32 + x", ["`F32` is a dtype"]),
        ("¦NaN + x", ["unknown name `NaN`", "did you mean `nan`?"]),
        ("x.¦log_sofmax(axis=1)", ["unknown function `log_sofmax`", "did you mean `log_softmax`?"]),
        ("x.¦argmax(axis=1)", ["a reduction is written .reduce(op=argmax, axis=…)"]),
        ("¦x(y)", ["`x` is a variable, expected a function", "note: it is bound here"]),
        ("¦main(x)", ["`main` is called before its binding", "there is no recursion"]),
        ("(let a = x in a) + ¦a", ["unknown name `a`"]),
        # Tuples.
        ("let ¦(a, b) = x in a", ["takes a tuple of 2 apart, found a tensor"]),
        ("let ¦(a, b, e) = pair(x, y) in a", ["a tuple of 3 apart, found one of 2"]),
        ("let (a, ¦a) = pair(x, y) in a", ["the pattern binds `a` twice"]),
        ("exp(¦pair(x, y))", ["exp: operand is a tuple of 2, expected a tensor", "take it apart"]),
        ("¦(x, y) * 2.0", ["mul: left is a tuple of 2, expected a tensor"]),
        ("three(¦(x, y))", ["three: `p` is a tuple, expected a tensor"]),
        # Calls.
        ("pair(x, ¦y.exp().reshape([1, 3]))", ["argument 2 has type tensor<F32, [1, 3]>"]),
        ("pair(¦x.cast(F16), y)", ["pair: argument 1 has type tensor<F16, [2, 3]>"]),
        ("pair(x.reshape([3, 2]), ¦y)", ["expected tensor<F32, [2]> ([M] with M = 2)"]),
        ("square(¦x)", ["square: argument 1 has type", "parameter `p` has type tensor<F32, [N, N"]),
        ("three(¦x.reduce(op=sum, axis=1))", ["expected tensor<F32, [3]>"]),
        ("pair(¦d, y)", ["@device"]),
        ("¦pair(x)", ["pair: missing argument `q`", "note: pair(p: tensor<F32, [N, M]>"]),
        ("pair(x, y, ¦r)", ["expected 2 positional arguments (`p`, `q`)", "is defined here"]),
        ("answer(¦x)", ["expected 0 positional arguments (none)"]),
        ("three(¦2.0)", ["the number 2 has no dtype"]),
        ("three(¦k=y)", ["three: unknown argument `k`, expected `p`"]),
        ("pair(p=x, ¦p=x)", ["pair: argument `p` is given twice"]),
        # Results.
        ("¦y", ["main: the body has type tensor<F32, [3]>, expected tensor<F32, [2, 3]>"]),
        ("let a = x in ¦y", ["note: the result is declared as tensor<F32, [2, 3]>"]),
        ("¦pair(x, y)", ["the body has type (tensor<F32, [2]>, tensor<F32, [3]>)"]),
        ("¦(x, x)", ["the body has type (tensor<F32, [2, 3]>, tensor<F32, [2, 3]>)"]),
        ("¦d", ["the body has type tensor<F32, [2, 3], @device>"]),
    ],
)  # fmt: skip
def test_refused(body: str, fragments: list[str]) -> None:
    first, *others = refuse(program(body, "tensor<F32, [2, 3]>"))
    shown = first.render()
    for fragment in fragments:
        assert fragment in shown
    assert not others, others[0].render()


X = "x: tensor<F32, [2]>"
T = "tensor<F32, [2]>"


@pytest.mark.parametrize(
    ("text", "fragments"),
    [
        (f"let f = fn(x: tensor<¦F64, [2]>) -> {T} {{ x }}", ["F64 is reserved", "use F32"]),
        (f"let f = fn(x: tensor<¦f32, [2]>) -> {T} {{ x }}", ["did you mean `F32`?"]),
        (f"let f = fn(x: tensor<¦float32, [2]>) -> {T} {{ x }}", ["did you mean `F32`?"]),
        (f"let f = fn(x: tensor<F32, [¦0]>) -> {T} {{ x }}", ["a dimension is at least 1"]),
        (f"let f = fn(x: tensor<F32, [¦00]>) -> {T} {{ x }}", ["a dimension is at least 1"]),
        (f"let f = fn(x: tensor<F32, [2], ¦@gpu>) -> {T} {{ x }}", ["unknown placement `@gpu`"]),
        (f"let f = fn(x: tensor<F32, [2], ¦@hots>) -> {T} {{ x }}", ["did you mean `host`?"]),
        (f"let f = fn(x: tensor<F32, ¦[4294967296, 4294967296]>) -> {T} {{ x }}", ["2^60 - 1"]),
        (f"let f = fn({X}) -> tensor<F32, [¦N]> {{ x }}", ["symbol `N` is not bound"]),
        ("let f = fn(x: tensor<F32, [B]>) -> tensor<F32, [¦b]> { x }", ["did you mean `B`?"]),
        (f"let f = fn({X}, ¦{X}) -> {T} {{ x }}", ["parameter `x` is declared twice", "first one"]),
        (f"let f = fn({X}) -> ({T}, {T}) {{ (x, ¦-x.reduce(op=sum, axis=0)) }}", ["result 2 has"]),
        (f"let f = fn({X}) -> ({T}, {T}) {{ ¦x }}", ["the body has type tensor<F32, [2]>, expe"]),
        (f"let f = fn({X}) -> ({T}, {T}) {{ ¦(x, x, x) }}", ["the body has type"]),
        (f"let f = fn({X}) -> {T} {{ x }} let ¦f = fn({X}) -> {T} {{ x }}", ["exists already"]),
        (f"let f = fn({X}) -> {T} {{ ¦g(x) }} let g = fn({X}) -> {T} {{ x }}", ["called before"]),
    ],
)
def test_refused_programs(text: str, fragments: list[str]) -> None:
    first, *others = refuse(text)
    for fragment in fragments:
        assert fragment in first.render()
    assert not others, others[0].render()


def test_independent_errors_show_in_one_run() -> None:
    text = f"""let f = fn({X}, n: tensor<I32, [2]>) -> {T} {{
  let a = x.softmax(axis=1) in
  let b = x + unknown in
  let c = (a + b) * exp(n) in
  let d = g(x) in
  -x.reduce(op=sum, axis=0)
}}
let h = fn({X}) -> {T} {{ y }}
"""
    assert [p.span.line for p in errors(text) if p.span] == [2, 3, 4, 5, 6, 8]


def test_one_mistake_is_not_repeated_by_what_depends_on_it() -> None:
    text = f"""let f = fn(x: tensor<F99, [2]>, y: tensor<F32, [N]>) -> {T} {{
  let (a, b) = (x, -x) in
  let c = a.softmax(axis=7) * 2.0 + b in
  (c, y.broadcast([N]), x)
}}
"""
    assert [p.message.split(",")[0] for p in errors(text)] == ["unknown dtype `F99`"]


def test_calls_of_an_erroneous_function_stay_silent() -> None:
    text = f"let f = fn(x: tensor<F99, [2]>) -> {T} {{ x }} let g = fn({X}) -> {T} {{ f(x) + x }}"
    assert len(errors(text)) == 1
    text = f"let f = reverseMode(g) let h = fn({X}) -> {T} {{ let (a, b) = f(x) in b }}"
    assert [p.message for p in errors(text)] == ["unknown function `g`"]


def test_a_function_may_be_called_like_an_operation() -> None:
    text = f"""let log = fn({X}) -> {T} {{ log(x) + 1 }}
let f = fn({X}) -> {T} {{ log(x) }}
"""
    log, f = check(Source("t.kina", text)).functions
    assert [type(instruction) for instruction in log.body] == [Apply, Constant, Apply, Apply]
    assert isinstance(f.body[0], CallFunction)


def test_both_spellings_of_a_call_are_one_program() -> None:
    def steps(body: str) -> list[tuple[str, dict[str, object]]]:
        function = accept(body, "tensor<F32, [2]>")
        return [(i.op, dict(i.attributes)) for i in function.body if isinstance(i, Apply)]

    method = steps("x.log_softmax(axis=1).take_along_axis(t, axis=1)")
    assert method == steps("take_along_axis(log_softmax(x, axis=1), t, axis=1)")
    assert method == [("log_softmax", {"axis": 1}), ("take_along_axis", {"axis": 1})]


def test_minus_binds_less_than_a_method() -> None:
    function = accept("-x.exp()", "tensor<F32, [2, 3]>")
    assert [i.op for i in function.body if isinstance(i, Apply)] == ["exp", "neg"]


def test_a_number_becomes_a_constant_of_the_tensor_beside_it() -> None:
    constant, broadcast, product = accept("-2.5 * h", "tensor<F16, [2, 3]>").body
    assert isinstance(constant, Constant)
    assert (constant.values, str(constant.result.type)) == ((-2.5,), "tensor<F16, []>")
    assert isinstance(broadcast, Apply)
    assert broadcast.attributes == {"dims": (2, 3)}
    assert isinstance(product, Apply)
    assert product.operands[0] is broadcast.result


def test_a_call_puts_the_callers_dimensions_into_the_result() -> None:
    body = "pair(z.reduce(op=sum, axis=0), z.reduce(op=sum, axis=0).reduce(op=max, axis=0))"
    function = accept(body, "(tensor<F32, [T]>, tensor<F32, [V]>)")
    call = function.body[-1]
    assert isinstance(call, CallFunction)
    assert [str(value.type) for value in call.results] == ["tensor<F32, [T]>", "tensor<F32, [V]>"]


def test_signatures() -> None:
    program_ = check(Source("t.kina", LIBRARY))
    assert list(program_.signatures) == ["pair", "square", "three", "answer"]
    pair = program_.signatures["pair"]
    assert pair.symbols == ("N", "M")
    result: Type = pair.result
    assert str(result) == "(tensor<F32, [N]>, tensor<F32, [M]>)"


def test_a_caret_stands_under_the_example_of_the_manual() -> None:
    text = """let nll = fn(
  logits: tensor<F32, [1, 4, 8]>,
  targets: tensor<I64, [1, 8]>
) -> tensor<F32, [1, 4]> {
  -logits.take_along_axis(targets, axis=2)
}
"""
    (problem,) = errors(text)
    assert problem.render() == (
        "t.kina:5:27: error: take_along_axis: indices have shape [1, 8], expected [1, 4] "
        "(values [1, 4, 8] without axis 2)\n"
        "  5 |   -logits.take_along_axis(targets, axis=2)\n"
        "    |                           ^~~~~~~\n"
        "t.kina:2:3: note: `logits` has type tensor<F32, [1, 4, 8]>\n"
        "  2 |   logits: tensor<F32, [1, 4, 8]>,\n"
        "    |   ^~~~~~\n"
        "t.kina:3:3: note: `targets` has type tensor<I64, [1, 8]>\n"
        "  3 |   targets: tensor<I64, [1, 8]>\n"
        "    |   ^~~~~~~"
    )
