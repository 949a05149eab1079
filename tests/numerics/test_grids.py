"""Threads share the rows and the columns of a product: every element once, with the same bits."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import kina
from helpers.settings import bits, machines

SOURCE = """
let known = fn(x: tensor<F32, [40, 5]>, w: tensor<F32, [5, 50]>) -> tensor<F32, [40, 50]> {
  x.matmul(w)
}
let rows = fn(x: tensor<F32, [N, 5]>, w: tensor<F32, [5, 50]>) -> tensor<F32, [N, 50]> {
  x.matmul(w) + 1.0
}
let any = fn(x: tensor<F32, [N, K]>, w: tensor<F32, [M, K]>) -> tensor<F32, [N, M]> {
  x.matmul(w.transpose([1, 0]))
}
let words = fn(x: tensor<I8, [40, 9]>, w: tensor<I8, [9, 96]>) -> tensor<I32, [40, 96]> {
  x.cast(I32).matmul(w.cast(I32))
}
"""
SMALL = {"tile_rows": 3, "tile_columns": 8, "few_rows": 2, "grain": 1}
"""So little work is shared by all threads that there are."""
THREADS = (1, 2, 3, 4, 5, 6, 7, 8, 12, 16)


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kina.Module]:
    with machines(SMALL, tmp_path_factory.mktemp("cache")):
        yield kina.compile(SOURCE)
    kina.set_num_threads(None)


def held(
    function: kina.Function, x: np.ndarray, w: np.ndarray, shape: tuple[int, int]
) -> np.ndarray:
    """A result with a row of ones before it and one behind it."""
    dtype = np.int32 if x.dtype == np.int8 else np.float32
    memory = np.full((shape[0] + 2, shape[1]), 1, dtype)
    memory[1:-1] = -1
    function(x, w, out=memory[1:-1])
    return memory


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("known", (40, 50)),
        *(("rows", (rows, 50)) for rows in (1, 2, 3, 7, 41)),
        *(("any", shape) for shape in ((1, 90), (2, 9), (40, 3), (40, 17), (13, 300))),
        ("words", (40, 96)),
    ],
)
def test_every_grid_has_the_same_bits(
    module: kina.Module, name: str, shape: tuple[int, int]
) -> None:
    rng, depth = np.random.default_rng(shape), 9 if name == "words" else 5
    x, w = rng.standard_normal((shape[0], depth)), rng.standard_normal((depth, shape[1]))
    kind = np.int8 if name == "words" else np.float32
    x, w = (x * 20).astype(kind), (w * 20).astype(kind)
    kina.set_num_threads(1)
    given = x, np.ascontiguousarray(w.T) if name == "any" else w
    wanted = held(module[name], *given, shape)
    exact = x.astype(np.float64) @ w + (name == "rows")
    np.testing.assert_allclose(wanted[1:-1], exact, rtol=1e-4, atol=1e-3)
    for threads in THREADS:
        kina.set_num_threads(threads)
        got = held(module[name], *given, shape)
        assert (bits(got) == bits(wanted)).all(), threads
