"""How much code a program becomes, for each level of x86-64."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from kina.backend import codegen
from kina.backend.lowering import Lowering
from kina.backend.options import Options
from kina.backend.targets import TARGETS
from kina.frontend.check import check
from kina.frontend.source import Source

PROGRAM = """
let nll = fn(x: tensor<F32, [B, T, V]>, t: tensor<I64, [B, T]>) -> tensor<F32, [B, T]> {
  -x.log_softmax(axis=2).take_along_axis(t, axis=2)
}
let dnll = reverseMode(nll)
let greedy = fn(x: tensor<BF16, [B, T, V]>) -> tensor<I64, [B, T]> { x.reduce(op=argmax, axis=2) }
let columns = fn(x: tensor<F32, [B, T, 64]>) -> tensor<F32, [B, T, 64]> { x.log_softmax(axis=1) }
"""
BOUNDS = {"x86-64-v2": 95_000, "x86-64-v3": 75_000, "x86-64-v4": 50_000}
"""Bytes of code; a body that is written twice, or unrolled, takes more."""
PRODUCT = """
let linear = fn(x: tensor<F32, [N, 576]>, w: tensor<F32, [576, 960]>) -> tensor<F32, [N, 960]> {
  x.matmul(w)
}
"""
PRODUCTS = {"x86-64-v2": 7_000, "x86-64-v3": 7_000, "x86-64-v4": 9_000}
"""Those of a product, whose tiles are unrolled as they are written and no further."""


def text_size(path: Path) -> int:
    """The bytes of all sections with code of an ELF object."""
    data = path.read_bytes()
    (table,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    headers = [struct.unpack_from("<IIQQQQ", data, table + size * i) for i in range(count)]
    return sum(header[5] for header in headers if header[2] & 4)


def size_of(program: str, level: str, folder: Path) -> int:
    """The bytes of code of a program."""
    (part,) = Lowering(check(Source("size.kina", program)), 10**6).parts(Options(target=level))
    target, symbols = TARGETS[level], [function.symbol for function in part.functions]
    llvm_ir = codegen.optimise(codegen.to_llvm_ir(part.code), target, symbols)
    codegen.to_object(llvm_ir, target, folder / "size.o")
    return text_size(folder / "size.o")


@pytest.mark.parametrize("level", BOUNDS)
def test_code_stays_below_a_bound(level: str, tmp_path: Path) -> None:
    assert BOUNDS[level] / 2 < size_of(PROGRAM, level, tmp_path) < BOUNDS[level]


@pytest.mark.parametrize("level", PRODUCTS)
def test_a_product_is_not_unrolled_further(level: str, tmp_path: Path) -> None:
    assert PRODUCTS[level] / 2 < size_of(PRODUCT, level, tmp_path) < PRODUCTS[level]
