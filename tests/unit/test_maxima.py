"""Maxima that NaNs may leave undecided, as comparisons in LLVM IR."""

from __future__ import annotations

import pytest

from kina.backend.maxima import compare_maxima
from kina.backend.options import Options
from kina.backend.stages import emit
from kina.frontend.source import Source

CALL = "  %7 = call TYPE @llvm.maximum.NAME(TYPE %4, TYPE RIGHT)\n"


@pytest.mark.parametrize(
    ("kind", "name", "bit"), [("float", "f32", "i1"), ("<64 x float>", "v64f32", "<64 x i1>")]
)
@pytest.mark.parametrize("right", ["%x.5", "0xFFF0000000000000"])
def test_a_maximum_is_a_comparison_and_a_choice(kind: str, name: str, bit: str, right: str) -> None:
    text = CALL.replace("TYPE", kind).replace("NAME", name).replace("RIGHT", right)
    assert compare_maxima("  ret void\n" + text).splitlines() == [
        "  ret void",
        f"  %kina.above.7 = fcmp ogt {kind} %4, {right}",
        f"  %7 = select {bit} %kina.above.7, {kind} %4, {kind} {right}",
    ]


def test_a_vector_constant_is_one_operand() -> None:
    constant = "splat (float 0xFFF0000000000000)"
    text = CALL.replace("TYPE", "<8 x float>").replace("RIGHT", constant)
    assert f"<8 x float> {constant}\n" in compare_maxima(text)


def test_other_calls_stay() -> None:
    text = "  %7 = call float @llvm.maxnum.f32(float %4, float %5)\n"
    assert compare_maxima(text) == text


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
