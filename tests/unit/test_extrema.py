"""Extrema that NaNs may leave undecided are one instruction."""

from __future__ import annotations

import pytest

from kina.backend.options import Options
from kina.backend.stages import emit
from kina.frontend.source import Source


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
