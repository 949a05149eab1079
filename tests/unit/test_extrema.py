"""Extrema that NaNs may leave undecided, as comparisons in LLVM IR."""

from __future__ import annotations

import pytest

from kina.backend.extrema import compare_extrema
from kina.backend.options import Options
from kina.backend.stages import emit
from kina.frontend.source import Source

FUNCTION = """define float @f(TYPE %4, TYPE %x.5) #0 {
LINES  ret void
}

attributes #0 = { ASKED }
"""
ASKED = '"kina-extrema"="settled"'


def function(line: str, asked: str = ASKED) -> str:
    return FUNCTION.replace("LINES", line).replace("ASKED", asked)


def call(kind: str, what: str, right: str) -> str:
    return f"  %7 = call {kind} @llvm.{what}({kind} %4, {kind} {right})\n"


@pytest.mark.parametrize(("what", "wins"), [("maximum", "ogt"), ("minimum", "olt")])
@pytest.mark.parametrize(
    ("kind", "name", "bit"), [("float", "f32", "i1"), ("<64 x float>", "v64f32", "<64 x i1>")]
)
@pytest.mark.parametrize("right", ["%x.5", "0xFFF0000000000000"])
def test_an_extremum_is_a_comparison_and_a_choice(
    kind: str, name: str, bit: str, right: str, what: str, wins: str
) -> None:
    text = function(call(kind, f"{what}.{name}", right))
    compared = (
        f"  %kina.above.7 = fcmp {wins} {kind} %4, {right}\n"
        f"  %7 = select {bit} %kina.above.7, {kind} %4, {kind} {right}\n"
    )
    assert compare_extrema(text) == function(compared)


def test_a_vector_constant_is_one_operand() -> None:
    constant = "splat (float 0xFFF0000000000000)"
    text = function(call("<8 x float>", "maximum.v8f32", constant))
    assert f"<8 x float> {constant}\n  ret" in compare_extrema(text)


def test_other_calls_and_other_functions_stay() -> None:
    other = function(call("float", "maxnum.f32", "%x.5"))
    assert compare_extrema(other) == other
    elsewhere = function(call("float", "maximum.f32", "%x.5"), '"kina-stream"="1:%0"')
    assert compare_extrema(elsewhere) == elsewhere


@pytest.mark.parametrize("axis", [0, 1])
def test_the_maximum_of_a_softmax_is_one_instruction(axis: int) -> None:
    body = f"x.log_softmax(axis={axis})"
    source = Source(
        "t.kina", f"let f = fn(x: tensor<F32, [96, 96]>) -> tensor<F32, [96, 96]> {{ {body} }}"
    )
    assembly = emit(source, "asm", Options("x86-64-v3"))
    assert "vmaxps" in assembly
    assert "vpmaxsd" not in assembly
    assert "vcmpunordps" not in assembly
