"""The machine code of kernels: no loop contains a call, and rows go through wide registers."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from kina.backend.options import Options
from kina.backend.stages import emit
from kina.frontend.source import Source

PROGRAMS = {
    "nll": "fn(x: tensor<F32, [B, N]>, t: tensor<I64, [B]>) -> tensor<F32, [B]> "
    "{ -x.log_softmax(axis=1).take_along_axis(t, axis=1) }",
    "columns": "fn(x: tensor<F32, [N, B]>) -> tensor<F32, [N, B]> { x.log_softmax(axis=0) }",
    "sample": "fn(x: tensor<F32, [B, N]>, u: tensor<F32, [B, N]>) -> tensor<I64, [B]> "
    "{ (x - log(-log(u))).reduce(op=argmax, axis=1) }",
    "choice": "fn(x: tensor<F32, [B, N]>, y: tensor<F32, [B, N]>) -> tensor<F32, [B, N]> "
    "{ (x > 0 && x <= y || x != x).select(x.clamp(-1, 1), y.maximum(x).round()) }",
    "half": "fn(x: tensor<BF16, [B, N]>) -> tensor<BF16, [B, N]> { x.softmax(axis=1) }",
}
LABEL = re.compile(r"^(\.L\w+):")
JUMP = re.compile(r"^\s+j\w+\s+(\.L\w+)$")
CALL = re.compile(r"^\s+call\w*\s+(.*)$")


def calls_in_loops(assembly: str) -> Iterator[str]:
    """What is called between a label and a later jump back to it."""
    label_at: dict[str, int] = {}
    lines = assembly.splitlines()
    for number, line in enumerate(lines):
        if found := LABEL.match(line):
            label_at[found[1]] = number
        elif (found := JUMP.match(line)) and found[1] in label_at:
            for inner in lines[label_at[found[1]] : number]:
                if called := CALL.match(inner):
                    yield called[1]


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_loop_contains_a_call(name: str) -> None:
    """Without threads: with them, a loop over pieces of a row may call the kernel of a piece."""
    source = Source("t.kina", f"let {name} = {PROGRAMS[name]}")
    assembly = emit(source, "asm", Options("x86-64-v3", threads=False))
    assert "%ymm" in assembly
    assert list(calls_in_loops(assembly)) == []


def test_a_call_in_a_loop_is_found() -> None:
    text = "f:\n.LBB0_1:\n\tcallq\texpf@PLT\n\tjne\t.LBB0_1\n\tcallq\tfree@PLT\n\tretq\n"
    assert list(calls_in_loops(text)) == ["expf@PLT"]


def test_no_vector_is_as_long_as_an_axis() -> None:
    """One fiber along an axis that is not the last, with sums of different depth."""
    text = """let f = fn(x: tensor<F32, [3000, 1]>) -> (tensor<F32, [3000, 1]>, tensor<F32, [1]>) {
      (x.log_softmax(axis=0), x.reduce(op=mean, axis=0))
    }"""
    ir = emit(Source("t.kina", text), "llvm", Options("x86-64-v3", threads=False))
    widths = {int(width) for width in re.findall(r"<(\d+) x float>", ir)}
    assert 16 in widths
    assert max(widths) < 3000
