"""Arithmetic on positions, in whatever loop they are counted: along lanes and across them."""

from __future__ import annotations

import numpy as np
import pytest

import kina

PROGRAM = """
let ways = fn(x: tensor<F32, [T, S]>) -> (
  tensor<I64, [T, S]>, tensor<I64, [T, S]>, tensor<I64, [T]>, tensor<I64, [S]>
) {
  let down = iota([T, S], axis=0) - iota([T, S], axis=1) in
  let up = iota([T, S], axis=1) - iota([T, S], axis=0) in
  (down * x.cast(I64), up, (-up).reduce(op=sum, axis=1), (down - 1).reduce(op=sum, axis=0))
}
let biased = fn(
  a: tensor<F32, [T, 8]>, b: tensor<F32, [8, S]>, at: tensor<I64, []>
) -> tensor<F32, [T, S]> {
  let distance = at.broadcast([T, S]) + iota([T, S], axis=0) - iota([T, S], axis=1) in
  (distance >= 0).select(a.matmul(b) - distance.cast(F32), 0)
}
"""


@pytest.fixture(scope="module")
def module() -> kina.Module:
    return kina.compile(PROGRAM)


@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 70), (17, 33), (2, 300)])
def test_differences_of_positions(module: kina.Module, rows: int, columns: int) -> None:
    """A number that is the same in all lanes less one that counts in them, and the other way."""
    x = np.random.default_rng(rows).integers(-9, 9, (rows, columns)).astype(np.float32)
    down = np.arange(rows)[:, None] - np.arange(columns)
    expected = (down * x.astype(np.int64), -down, down.sum(axis=1), (down - 1).sum(axis=0))
    for mine, theirs in zip(module.ways(x), expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)
    a, b = x[:, :1].repeat(8, axis=1), x[:1].repeat(8, axis=0)
    mine = module.biased(a, b, np.int64(2))
    np.testing.assert_array_equal(mine, np.where(down + 2 >= 0, a @ b - (down + 2), 0))
