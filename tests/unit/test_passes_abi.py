"""What export-c and assert-to-status leave is what mlir-opt turns into in-place C functions."""

from __future__ import annotations

import re

import pytest
from xdsl.context import Context

from kina.backend.ir_text import show
from kina.backend.toolchain import MLIR_OPT, run
from kina.frontend.check import check
from kina.frontend.irgen import generate
from kina.frontend.source import Source
from kina.universe import PASSES

PIPELINE = (
    "inline-calls",
    "simplify-kina",
    "decompose-kina",
    "simplify-kina",
    "lower-kina",
    "export-c",
    "assert-to-status",
)
BUFFERIZE = [
    "--canonicalize",
    "--eliminate-empty-tensors",
    "--one-shot-bufferize",
    "--canonicalize",
]
# The order that makes bare pointers: functions before the passes that would convert them too.
TO_LLVM = [
    "--convert-linalg-to-loops",
    "--expand-strided-metadata",
    "--lower-affine",
    "--convert-scf-to-cf",
    "--convert-math-to-llvm",
    "--convert-math-to-libm",
    "--finalize-memref-to-llvm",
    "--convert-cf-to-llvm",
    "--convert-arith-to-llvm",
    "--convert-index-to-llvm",
    "--convert-func-to-llvm=use-bare-ptr-memref-call-conv=true",
    "--reconcile-unrealized-casts",
]


def bufferized(text: str) -> str:
    """The memref form of a program."""
    module = generate(check(Source("test.kina", text)))
    for name in PIPELINE:
        PASSES[name]().apply(Context(), module)
    return run(MLIR_OPT, BUFFERIZE, show(module))


STATIC = """let f = fn(x: tensor<F32, [4, 8]>, i: tensor<I64, [4]>) -> tensor<F32, [4]> {
  -x.take_along_axis(i, axis=1)
}"""
SYMBOLIC = STATIC.replace("[4, 8]", "[N, C]").replace("[4]", "[N]")


@pytest.mark.parametrize("text", [STATIC, SYMBOLIC])
def test_inputs_are_not_copied_and_outputs_are_written_in_place(text: str) -> None:
    memrefs = bufferized(text)
    before, after = memrefs.split("scf.if")
    assert "memref.copy" not in memrefs
    # only the flag, one byte, before the check; one temporary after it: what neg reads
    assert re.findall(r"memref\.alloc\(.*\).* : (memref<.*>)", before) == ["memref<i8>"]
    assert len(re.findall(r"memref\.alloc\(", after)) <= 1
    assert "bufferization." not in memrefs


def test_results_that_are_no_new_value_are_copied() -> None:
    memrefs = bufferized(
        """let f = fn(x: tensor<F32, [N]>, b: tensor<Bool, []>)
          -> (tensor<F32, [N]>, tensor<F32, [N]>, tensor<Bool, []>, tensor<F32, [2]>) {
          (x, x, b, tensor<F32, [2]>(1.0, 2.0))
        }"""
    )
    assert memrefs.count("memref.copy") == 4
    assert "memref.alloc" not in memrefs


@pytest.mark.parametrize("text", [STATIC, SYMBOLIC])
def test_the_interface_is_plain_pointers(text: str) -> None:
    llvm = run(MLIR_OPT, TO_LLVM, bufferized(text))
    symbols = ["i64", "i64"] if "N" in text else []
    (line,) = re.findall(r"llvm\.func @kina_f\((.*?)\) -> i32", llvm)
    assert re.findall(r"%arg\d+: (\S+?)(?:,| |$)", line) == [*symbols, *["!llvm.ptr"] * 3]
    assert "llvm.noalias" in line
