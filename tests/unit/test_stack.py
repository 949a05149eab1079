"""The stack that a call takes in compiled code, along its deepest chain of calls: docs/abi.md."""

from __future__ import annotations

import ast
import re

import pytest

from kina.backend import codegen, pipeline
from kina.backend.lowering import lower
from kina.backend.options import Options
from kina.backend.stages import checked
from kina.backend.targets import TARGETS
from kina.backend.toolchain import LLC, run
from kina.frontend.source import Source

BOUND = 8 << 10
RETURN = 16
"""Bytes that a call itself takes, at most."""

KINDS = ("F16",)
MANY = """
let small = fn(x: tensor<F32, [16, 16]>) -> tensor<F32, [16, 16]> {
  let a = x.softmax(axis=0) in let b = a.softmax(axis=1) in let c = b.softmax(axis=0) in
  let d = c.log_softmax(axis=1) in let e = d.softmax(axis=0) in e.softmax(axis=1) + a + b + c + d
}"""
MIXED = """
let f = fn(x: tensor<F32, [N, M]>, h: tensor<F16, [N, M]>, i: tensor<I64, [N]>)
  -> (tensor<F32, [N, M]>, tensor<F16, [N, M]>, tensor<F32, [N, M]>) {
  let s = x.softmax(axis=0) in
  let l = x.log_softmax(axis=1) in
  let q = l.take_along_axis(i, axis=1) in
  (s * l, h.softmax(axis=1) + h.softmax(axis=0), x + q.reshape([N, 1]).broadcast([N, M]))
}
let sample = fn(x: tensor<F32, [N, M]>, u: tensor<F32, [N, M]>) -> tensor<I64, [N]> {
  (x - log(-log(u))).reduce(op=argmax, axis=1)
}"""
LOSSES = "\n".join(
    f"""let nll_{kind} = fn(x: tensor<{kind}, [N, M]>, t: tensor<I64, [N]>)
      -> tensor<{kind}, [N]> {{
      -(x + exp(x)).log_softmax(axis=1).take_along_axis(t, axis=1)
    }}
    let dnll_{kind} = reverseMode(nll_{kind})"""
    for kind in KINDS
)
PRODUCT = """
let product = fn(x: tensor<F32, [B, M, K]>, y: tensor<F32, [B, K, N]>) -> tensor<F16, [B, M, N]> {
  let z = x.matmul(y) in (z / ((-z).exp() + 1.0)).cast(F16)
}
let dproduct = reverseMode(product)
"""
LAYERS = """
let layer = fn(x: tensor<F32, [N, D]>, w: tensor<F32, [D, D]>, i: tensor<I64, [N]>)
  -> tensor<F32, [N, D]> {
  let y = x.matmul(w).softmax(axis=1) in y.gather(i) + y
}
let pair = fn(x: tensor<F32, [N, D]>, w: tensor<F32, [2, D, D]>, i: tensor<I64, [N]>)
  -> tensor<F32, [N, D]> { fold(layer, x, over=[w], with=[i]) }
let model = fn(x: tensor<F32, [N, D]>, w: tensor<F32, [L, 2, D, D]>, i: tensor<I64, [N]>)
  -> tensor<F32, [N, D]> { fold(pair, x, over=[w], with=[i]) }
let dmodel = reverseMode(model, wrt=[x, w])
"""
PROGRAMS = {"product": PRODUCT, "layers": LAYERS, "many": MANY, "mixed": MIXED, "losses": LOSSES}


def number(text: str) -> int:
    """A ULEB128 number as the assembler takes it: a byte, several, or a string."""
    bytes_ = (
        ast.literal_eval(f"b{text}")
        if text.startswith('"')
        else bytes(int(part, 0) for part in text.split(","))
    )
    return sum((byte & 127) << (7 * place) for place, byte in enumerate(bytes_))


def frames(assembly: str) -> dict[str, tuple[int, set[str]]]:
    """The frame of each function, and what it calls or jumps to."""
    found: dict[str, tuple[int, set[str]]] = {}
    for body in assembly.split("-- End function")[:-1]:
        (name,) = re.findall(r'^"?([\w.$]+)"?:\s*(?:#|//) @', body, re.MULTILINE)
        (size,) = re.findall(r"\.stack_sizes.*\n\s+\.\w+\s+\.L\w+\n\s+\.\w+\s+(.+)", body)
        targets = re.findall(r'\b(?:callq?|jmp|bl?)\s+"?([\w.$]+)"?', body)
        found[name] = number(size), set(targets)
    return found


def deepest(name: str, known: dict[str, tuple[int, set[str]]]) -> int:
    size, called = known[name]
    return size + RETURN + max((deepest(c, known) for c in called & set(known)), default=0)


def assembly_of(program: str, target: str) -> str:
    options = Options(target)
    lowered = lower(checked(Source("t.kina", program), options), options)
    symbols = [function.symbol for function in lowered.functions]
    chosen = TARGETS[target]
    llvm_ir = codegen.optimise(codegen.to_llvm_ir(lowered.code), chosen, symbols)
    return run(LLC, [*chosen.flags, *pipeline.CODEGEN, "-stack-size-section"], llvm_ir)


LEVELS = ["x86-64-v2", "x86-64-v3", "x86-64-v4", "native", "aarch64"]
SLOW = {
    "product": {"x86-64-v3", "x86-64-v4"},
    "layers": {"x86-64-v3", "x86-64-v4", "aarch64"},
    "mixed": {"x86-64-v3"},
    "losses": {"x86-64-v3"},
}
"""What takes long to compile and is left to the sweep."""
CASES = [
    pytest.param(program, level, marks=pytest.mark.sweep if level in SLOW.get(program, ()) else ())
    for program in PROGRAMS
    for level in LEVELS
]


@pytest.mark.parametrize(("program", "target"), CASES)
def test_a_call_takes_little_stack(program: str, target: str) -> None:
    known = frames(assembly_of(PROGRAMS[program], target))
    assert known
    for name in known:
        assert deepest(name, known) <= BOUND, name


def test_a_chain_of_calls_adds_up() -> None:
    known = {"a": (100, {"b", "c", "malloc"}), "b": (8, set[str]()), "c": (50, {"b"})}
    assert deepest("a", known) == 158 + 3 * RETURN


def test_numbers_are_read() -> None:
    assert [number(r'"\270\032"'), number("104"), number("0xb8,0x1a")] == [3384, 104, 3384]
