"""Pipelines among tensors that are written in windows: what reads a whole waits for all of them."""

from __future__ import annotations

import numpy as np
import pytest

import kina

PROGRAM = """
let _layer = fn(
  x: tensor<F32, [B, 1, D]>,
  keys: tensor<F32, [B, S, D]>,
  up: tensor<F32, [D, M]>,
  down: tensor<F32, [M, D]>
) -> (tensor<F32, [B, 1, D]>, tensor<F32, [B, S + 1, D]>) {
  let keys = concat(keys, x.matmul(up).matmul(down), axis=1) in
  let x = x + x.matmul(keys.transpose([0, 2, 1])).softmax(axis=2).matmul(keys) in
  (x + x.matmul(up).gelu().matmul(down), keys)
}
let joined = fn(
  x: tensor<F32, [B, 1, 16]>,
  keys: tensor<F32, [L, B, S, 16]>,
  up: tensor<F32, [L, 16, 24]>,
  down: tensor<F32, [L, 24, 16]>
) -> (tensor<F32, [B, 1, 16]>, tensor<F32, [L, B, S + 1, 16]>) {
  fold(_layer, x, over=[keys, up, down])
}
let halves = fn(
  x: tensor<F32, [N, D]>,
  w: tensor<F32, [D, 32]>,
  v: tensor<F32, [16, D]>
) -> tensor<F32, [N, D]> {
  let both = x.matmul(w) in
  let gate = both.slice(axis=1, start=0, size=16).silu() in
  x + (gate * both.slice(axis=1, start=16, size=16)).matmul(v)
}
let dhalves = reverseMode(halves)
"""


@pytest.fixture(scope="module")
def module() -> kina.Module:
    return kina.compile(PROGRAM, threads=False)


def normal(*shape: int) -> np.ndarray:
    return np.random.RandomState(len(shape)).normal(size=shape).astype(np.float32) * np.float32(0.3)


@pytest.mark.parametrize("size", [1, 3, 40])
def test_windows_are_written_before_they_are_read(module: kina.Module, size: int) -> None:
    calls = {
        "joined": (
            normal(size, 1, 16),
            normal(3, size, 7, 16),
            normal(3, 16, 24),
            normal(3, 24, 16),
        ),
        "dhalves": (normal(size, 8), normal(8, 32), normal(16, 8), normal(size, 8)),
    }
    for name, given in calls.items():
        function = module[name]
        for mine, theirs in zip(function(*given), function.reference(*given), strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=2e-5)
