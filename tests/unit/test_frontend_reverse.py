"""`reverseMode` in the type checker: the function that it makes, and what it refuses, where.

In the error table `¦` marks the place that the first diagnostic names; it is not part of the text.
"""

from __future__ import annotations

import pytest

from kina.errors import KinaTypeError
from kina.frontend.check import check
from kina.frontend.source import Source
from kina.types import Signature

MARK = "¦"
T, N = "tensor<F32, [2]>", "tensor<I64, [2]>"
F = f"let f = fn(x: {T}, n: {N}, y: {T}) -> ({T}, {N}) {{ (x * y, n) }}\n"
ARGMAX = "reduce(op=argmax, axis=0)"


def signature(text: str, name: str) -> Signature:
    return check(Source("t.kina", text)).signatures[name]


def shown(text: str) -> str:
    return str(signature(F + text, "g"))


def test_results_and_gradients_of_every_floating_parameter() -> None:
    assert shown("let g = reverseMode(f)") == (
        f"g(x: {T}, n: {N}, y: {T}, ct: {T}) -> ({T}, {N}, {T}, {T})"
    )


def test_gradients_follow_wrt() -> None:
    text = "let g = fn(a: tensor<F32, [3]>, b: tensor<F16, [4]>) -> tensor<F32, [3]> { a }\n"
    types = signature(text + "let h = reverseMode(g, wrt=[b, a])", "h").results
    assert [str(type_) for type_ in types[1:]] == ["tensor<F16, [4]>", "tensor<F32, [3]>"]


@pytest.mark.parametrize(
    ("parameters", "results", "names"),
    [
        ("x", ["F32, []"], []),
        ("x", ["F32, []", "F32, [2]"], ["ct"]),
        ("x", ["F32, [2]", "I64, [2]", "F32, [2]"], ["ct0", "ct1"]),
        ("ct", ["F32, [2]"], ["ct_"]),
        ("ct, ct_", ["F32, [2]"], ["ct__"]),
        ("ct1, ct", ["F32, [2]", "F32, [2]"], ["ct0", "ct1_"]),
    ],
)
def test_names_of_cotangents(parameters: str, results: list[str], names: list[str]) -> None:
    """One for each floating result with an axis; a name that is taken gets a `_`."""
    given = parameters.split(", ")
    types = [f"tensor<{result}>" for result in results]
    values = {
        "F32, []": f"{given[0]}.reduce(op=sum, axis=0)",
        "F32, [2]": given[0],
        "I64, [2]": f"{given[0]}.cast(I64)",
    }
    body = ", ".join(values[result] for result in results)
    result = types[0] if len(types) == 1 else f"({', '.join(types)})"
    value = body if len(types) == 1 else f"({body})"
    declared = ", ".join(f"{name}: {T}" for name in given)
    text = f"let f = fn({declared}) -> {result} {{ {value} }} let g = reverseMode(f)"
    assert [p.name for p in signature(text, "g").parameters] == [*given, *names]


def test_a_gradient_is_a_function_like_any_other() -> None:
    """It can be called, with other sizes, and differentiated again."""
    text = """
let f = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> { x * x }
let g = reverseMode(f)
let h = reverseMode(g)
let use = fn(x: tensor<F32, [3]>) -> tensor<F32, [3]> { let (y, dx) = g(x, ct=x) in y + dx }
"""
    assert [p.name for p in signature(text, "h").parameters] == ["x", "ct", "ct0", "ct1"]
    assert len(signature(text, "h").results) == 4
    assert str(signature(text, "use").result) == "tensor<F32, [3]>"


REFUSED = [
    ("let g = reverseMode(¦h)", ["unknown function `h`"]),
    ("let g = reverseMode(¦F)", ["did you mean `f`?"]),
    ("let g = reverseMode(¦g)", ["`g` is used before its binding"]),
    ("let g = reverseMode(¦exp)", ["`exp` is an operation"]),
    ("let g = reverseMode(f, wrt=[¦X])", ["f has no parameter `X`", "did you mean `x`?"]),
    ("let g = reverseMode(f, wrt=[x, ¦n])", ["`n` has dtype I64", "`n` has type"]),
    ("let g = reverseMode(f, wrt=[x, y, ¦x])", ["`wrt` names `x` twice", "the first one"]),
    (
        f"let p = fn(n: {N}) -> {T} {{ n.cast(F32) }} let g = reverseMode(¦p)",
        ["no parameter of p is floating"],
    ),
    (
        f"let p = fn(x: {T}) -> {N} {{ x.cast(I64) }} let g = reverseMode(¦p)",
        ["no result of p is floating"],
    ),
    (
        f"let p = fn(x: {T}) -> tensor<I64, []> {{ x.¦{ARGMAX} }} let g = reverseMode(p)",
        ["Argmax VJP is unsupported.", "g differentiates through it"],
    ),
    (
        f"let p = fn(x: {T}) -> tensor<F32, []> {{ x.¦{ARGMAX}.cast(F32) }}"
        f" let q = fn(x: {T}) -> tensor<F32, []> {{ p(exp(x)) * 2 }} let g = reverseMode(q)",
        ["Argmax VJP is unsupported."],
    ),
    (
        f"let p = fn(x: {T}) -> tensor<F32, []> {{ x.{ARGMAX}.cast(F32) }}"
        " let g = reverseMode(¦h) let q = reverseMode(h)",
        ["unknown function `h`"],
    ),
]


@pytest.mark.parametrize(("text", "fragments"), REFUSED)
def test_refusals(text: str, fragments: list[str]) -> None:
    marked = F + text
    with pytest.raises(KinaTypeError) as caught:
        check(Source("t.kina", marked.replace(MARK, "")))
    first = caught.value.diagnostics[0]
    before = marked[: marked.index(MARK)]
    assert first.span is not None
    assert first.span.line == before.count("\n") + 1
    assert first.span.column == len(before.rpartition("\n")[2]) + 1
    for fragment in fragments:
        assert fragment in first.render()


ACCEPTED = [
    # beside the loss
    f"let p = fn(x: {T}) -> (tensor<F32, []>, tensor<I64, []>)"
    f" {{ (x.reduce(op=sum, axis=0), x.{ARGMAX}) }} let g = reverseMode(p)",
    # of a parameter that is not differentiated
    f"let p = fn(x: {T}, y: tensor<F32, [2, 3]>) -> tensor<F32, [3]>"
    f" {{ y.gather(x.{ARGMAX}) }} let g = reverseMode(p, wrt=[y])",
    # in a callee, of another argument
    f"let p = fn(x: {T}, y: {T}) -> ({T}, tensor<I64, []>) {{ (x, y.{ARGMAX}) }}"
    f" let q = fn(x: {T}, y: {T}) -> tensor<F32, []>"
    " { let (a, i) = p(x, y) in a.reduce(op=sum, axis=0) * i.cast(F32) }"
    " let g = reverseMode(q, wrt=[x])",
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_an_argmax_that_no_gradient_goes_through_is_fine(text: str) -> None:
    assert "g" in check(Source("t.kina", text)).signatures


def test_gradients_of_an_erroneous_function_stay_silent() -> None:
    text = f"let f = fn(x: {T}) -> {T} {{ y }}\nlet g = reverseMode(f)\nlet h = reverseMode(g)\n"
    twice = f"let f = fn(x: {T}) -> ({T}, {T}) {{ x }}\nlet g = reverseMode(f)"
    for program in (text, twice, F + text):
        with pytest.raises(KinaTypeError) as caught:
            check(Source("t.kina", program))
        assert all("reverseMode" not in problem.message for problem in caught.value.diagnostics)
        assert len(caught.value.diagnostics) <= 2
