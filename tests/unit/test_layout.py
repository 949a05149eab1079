"""What iota, transpose, slice, concat and update cost: kernels, loops, allocations."""

from __future__ import annotations

import pytest

from kina.backend.lowering import Lowered, lower
from kina.backend.options import Options
from kina.frontend.check import check
from kina.frontend.source import Source

SHIFTED = """
let f = fn(x: tensor<F32, [2, 9, 512]>, t: tensor<I64, [2, 8]>) -> tensor<F32, [2, 8]> {
  -x.slice(axis=1, start=0, size=8).log_softmax(axis=2).take_along_axis(t, axis=2)
}"""
SPLIT = """
let f = fn(x: tensor<F32, [B, T, 32]>) -> tensor<F32, [B, 4, T, 8]> {
  x.reshape([B, T, 4, 8]).transpose([0, 2, 1, 3])
}"""
MERGE = """
let f = fn(x: tensor<F32, [B, 4, T, 8]>) -> tensor<F32, [B, T, 32]> {
  x.transpose([0, 2, 1, 3]).reshape([B, T, 32])
}"""
ROPE = """
let f = fn(
  x: tensor<F32, [B, T, 64]>, cos: tensor<F32, [T, 32]>, sin: tensor<F32, [T, 32]>
) -> tensor<F32, [B, T, 64]> {
  let c = cos.broadcast([B, T, 32]) in
  let s = sin.broadcast([B, T, 32]) in
  let a = x.slice(axis=2, start=0, size=32) in
  let b = x.slice(axis=2, start=32, size=32) in
  concat(a * c - b * s, b * c + a * s, axis=2)
}"""
HALVES = """
let f = fn(
  x: tensor<F32, [B, T, 64]>, cos: tensor<F32, [T, 64]>, sin: tensor<F32, [T, 64]>
) -> tensor<F32, [B, T, 64]> {
  let a = x.slice(axis=2, start=0, size=32) in
  let turned = concat(-x.slice(axis=2, start=32, size=32), a, axis=2) in
  x * cos.broadcast([B, T, 64]) + turned * sin.broadcast([B, T, 64])
}"""
TURNED_BACK = HALVES.replace("let f", "let _g") + "\nlet f = reverseMode(_g, wrt=[x])"
GROUPED = """
let f = fn(q: tensor<F32, [B, 8, T, 16]>, k: tensor<F32, [B, 2, T, 16]>) -> tensor<F32, [B, 8, T]> {
  let wide = k.reshape([B, 2, 1, T, 16]).broadcast([B, 2, 4, T, 16]) in
  (q.reshape([B, 2, 4, T, 16]) * wide).reduce(op=sum, axis=4).reshape([B, 8, T])
}"""
APPEND = """
let f = fn(k: tensor<F32, [4, T, 64]>, new: tensor<F32, [4, 1, 64]>, i: tensor<I64, []>)
  -> tensor<F32, [4, T, 64]> { k.update(new, at=i, axis=1) }"""
MASK = """
let f = fn(x: tensor<F32, [T, T]>) -> tensor<F32, [T, T]> {
  x + (iota([T, T], axis=1) - iota([T, T], axis=0)).cast(F32)
}"""


def lowered(text: str) -> Lowered:
    """The program after all passes, for one thread."""
    return lower(check(Source("t.kina", text)), Options(threads=False))


def kernels(found: Lowered) -> list[str]:
    """The headings of the kernels that are no checks of indices."""
    lines = [line for line in found.kernels if not line.startswith(" ")]
    blocks = [found.kernels[found.kernels.index(line) :] for line in lines]
    return [line for line, block in zip(lines, blocks, strict=True) if "arith.andi" not in block[2]]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        *((SHIFTED, 1), (SPLIT, 1), (MERGE, 1), (ROPE, 1), (HALVES, 1), (TURNED_BACK, 1)),
        *((GROUPED, 1), (APPEND, 2), (MASK, 1)),
    ],
    ids=["shifted", "split", "merge", "rope", "halves", "back", "grouped", "append", "mask"],
)
def test_nothing_is_copied_that_can_be_read_in_its_place(text: str, count: int) -> None:
    """As many kernels as write results, no temporary, and whole vectors."""
    found = lowered(text)
    assert len(kernels(found)) == count, found.kernels
    assert "memref.alloc" not in found.code.replace("memref.alloca", "")
    assert not [line for line in found.kernels if "not vectorised" in line]
