"""Words of other systems get help, and the compositions that the help shows are programs."""

import re

import pytest

from kina.errors import KinaError
from kina.frontend.check import check
from kina.frontend.foreign import SYNTAX, WORDS
from kina.frontend.source import Source
from kina.ops import OPS

HEAD = "let f = fn(x: tensor<F32, [B, V]>, t: tensor<I64, [B]>) -> tensor<F32, [B, V]> { "


def said(body: str) -> str:
    with pytest.raises(KinaError) as caught:
        check(Source("t.kina", HEAD + body + " }"))
    return str(caught.value)


@pytest.mark.parametrize("word", WORDS)
def test_an_unknown_operation_gets_its_row(word: str) -> None:
    found = said(f"x.{word}(t)")
    expected = WORDS[word] if word not in ("max", "mean", "sum") else f".reduce(op={word}, axis=…)"
    assert expected in found
    assert word not in OPS


@pytest.mark.parametrize("word", ["def", "return", "if", "for", "while", "lambda", "@"])
def test_a_word_of_python_gets_its_row(word: str) -> None:
    assert SYNTAX[word] in said(f"x {word} x")


def test_what_is_no_comparison_says_what_is_meant() -> None:
    assert "one `=` follows `let` and a name" in said("let y == x in y")
    assert "an argument is given with one `=`: axis=…" in said("x.softmax(axis == 1)")
    assert "logic on Bool is written x && y" in said("x > 0 and x < 1")
    assert "x.bit_and(y)" in said("x & x")
    assert "x.shift_left(n)" in said("x << 2")
    assert "comparisons do not chain" in said("0 < x < 1")
    assert "a binding starts with `let`" in said("y = x in y")
    assert "write x * x, or (x.log() * p).exp()" in said("x ** 2")
    for body in ("x[0]", "(x + x)[0]", "x.exp()[:, 0]", "let y = x[0] in y", "(x[0])", "exp(x[0])"):
        assert "x.take_along_axis(t, axis=1)" in said(body), body
    for body in ("if x > 0 then x else x", "not x", "return x"):
        assert SYNTAX[body.split()[0]] in said(body), body
    assert "write transpose([1, 0])" in said("x.T")
    assert "tensor<F32, [B, V]>(1)" in said("(x > 0).select(1, 0)")
    assert "(0.1 / V).cast(F32).broadcast([B, V])" in said("(x > 0).select(0.1 / V, 1)")


@pytest.mark.parametrize(
    ("parameters", "wrong", "right"),
    [
        ("x: tensor<F32, [B, V]>, t: tensor<F32, [B]>", "x / t", "t.reshape([B, 1])"),
        ("t: tensor<F32, [B]>, x: tensor<F32, [B, V]>", "t / x", "t.reshape([B, 1])"),
        ("x: tensor<F32, [B, V, 4]>, t: tensor<F32, [B, 4]>", "x / t", "t.reshape([B, 1, 4])"),
    ],
)
def test_the_help_for_leading_axes_is_a_program(parameters: str, wrong: str, right: str) -> None:
    shape = parameters.partition("x: tensor<F32, ")[2].partition(">")[0]
    text = f"let f = fn({parameters}) -> tensor<F32, {shape}> {{ BODY }}"
    with pytest.raises(KinaError) as caught:
        check(Source("t.kina", text.replace("BODY", wrong)))
    call = f"{right}.broadcast({shape})"
    assert f"write {call.removeprefix('t')}" in str(caught.value)
    check(Source("t.kina", text.replace("BODY", wrong.replace("t", call))))


@pytest.mark.parametrize("word", ["relu", "rsqrt", "sinh", "cosh", "log2", "log10", "exp2", "mish"])
def test_a_composition_is_a_program(word: str) -> None:
    composed = re.search(r"composed: (.*)$", WORDS[word])
    assert composed
    check(Source("t.kina", HEAD + composed[1] + " }"))


FULL = "tensor<F32, [B, V]>"
PRODUCT = "a: tensor<F32, [N, K]>, b: tensor<F32, [K, M]>", "tensor<F32, [N, M]>"
PICKED = "x: tensor<F32, [B, V]>, t: tensor<I64, [B]>"


@pytest.mark.parametrize(
    ("word", "shown", "parameters", "result"),
    [
        ("pow", r"composed: (.*), or", f"x: {FULL}", FULL),
        ("pow", r", or (.*) for x above 0", f"x: {FULL}, p: {FULL}", FULL),
        ("dot", r"composed: (.*)", "a: tensor<F32, [N]>, b: tensor<F32, [N]>", "tensor<F32, []>"),
        ("einsum", r"composed: (.*)", *PRODUCT),
        ("cross_entropy", r"composed: (.*)", PICKED, "tensor<F32, []>"),
        (
            "nll_loss",
            r"log-probabilities: (.*)",
            PICKED.replace("x", "logp"),
            "tensor<F32, [B]>",
        ),
    ],
)
def test_a_composition_for_other_parameters_is_a_program(
    word: str, shown: str, parameters: str, result: str
) -> None:
    """What stands after `, then` goes on from the value of what stands before."""
    composed = re.search(shown, WORDS[word])
    assert composed
    first, _, rest = composed[1].partition(", then ")
    check(Source("t.kina", f"let f = fn({parameters}) -> {result} {{ ({first}){rest} }}"))
