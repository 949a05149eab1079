"""Products in tiles, of few rows, and as they lie in memory: the same chains, seen from outside.

Beside the model of the language: the tree of additions is recovered from results alone, as FPRev
does (a large number and its negative show what was added between them).
"""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest

import kina
from kina.order import ordered_product

SIGNATURES = {
    "nn": ("[M, K]", "[K, N]", "x.matmul(w)"),
    "nt": ("[M, K]", "[N, K]", "x.matmul(w.transpose([1, 0]))"),
    "tn": ("[K, M]", "[K, N]", "x.transpose([1, 0]).matmul(w)"),
    "tt": ("[K, M]", "[N, K]", "x.transpose([1, 0]).matmul(w.transpose([1, 0]))"),
}
SOURCE = "".join(
    f"let {name} = fn(x: tensor<F32, {x}>, w: tensor<F32, {w}>) -> tensor<F32, [M, N]> {{ {y} }}\n"
    for name, (x, w, y) in SIGNATURES.items()
)
SOURCE += """
let weights = fn(x: tensor<F32, [M, K]>, w: tensor<BF16, [N, K]>, b: tensor<F32, [N]>)
    -> tensor<BF16, [M, N]> {
  (x.matmul(w.cast(F32).transpose([1, 0])) + b.broadcast([M, N])).cast(BF16)
}
let quantised = fn(x: tensor<F32, [M, K]>, w: tensor<I8, [N, K]>, s: tensor<F32, [N]>)
    -> tensor<F32, [M, N]> {
  x.matmul((w.cast(F32) * s.reshape([N, 1]).broadcast([N, K])).transpose([1, 0]))
}
let halves = fn(x: tensor<F32, [M, K]>, w: tensor<F16, [N, K]>) -> tensor<F32, [M, N]> {
  x.matmul(w.cast(F32).transpose([1, 0]))
}
let bytes = fn(x: tensor<F32, [M, K]>, w: tensor<F8E4M3, [N, K]>) -> tensor<F32, [M, N]> {
  x.matmul(w.cast(F32).transpose([1, 0]))
}
let by_column = fn(x: tensor<F32, [M, K]>, w: tensor<I8, [K, N]>) -> tensor<F32, [M, N]> {
  x.matmul(w.cast(F32))
}
let lines = fn(x: tensor<F32, [1, 256]>, w: tensor<F32, [40, 256]>) -> tensor<F32, [1, 40]> {
  x.matmul(w.transpose([1, 0]))
}
let lines_of_bytes = fn(x: tensor<F32, [2, 512]>, w: tensor<I8, [40, 512]>)
    -> tensor<F32, [2, 40]> {
  x.matmul(w.cast(F32).transpose([1, 0]))
}
let vector = fn(x: tensor<F32, [M, K]>, w: tensor<F32, [K, 1]>) -> tensor<F32, [M, 1]> {
  x.matmul(w)
}
let narrow = fn(x: tensor<F32, [M, K]>, w: tensor<F32, [K, 3]>) -> tensor<F32, [M, 3]> {
  x.matmul(w)
}
let heads = fn(q: tensor<F32, [T, 3, D]>, k: tensor<F32, [S, 3, D]>) -> tensor<F32, [3, T, S]> {
  q.transpose([1, 0, 2]).matmul(k.transpose([1, 2, 0]))
}
"""
SIZES = (
    (1, 37, 50),
    (2, 1030, 33),
    (3, 16, 64),
    (5, 2100, 17),
    (8, 64, 96),
    (9, 1500, 70),
    (15, 1025, 31),
    (43, 33, 130),
    (400, 20, 40),
)


@pytest.fixture(scope="module")
def module() -> Iterator[kina.Module]:
    yield kina.compile(SOURCE)
    kina.set_num_threads(None)


def layouts(x: np.ndarray, w: np.ndarray) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The operands of each function."""
    turned = {"n": lambda a: a, "t": lambda a: np.ascontiguousarray(a.T)}
    return {name: (turned[name[0]](x), turned[name[1]](w)) for name in SIGNATURES}


@pytest.mark.parametrize(("rows", "depth", "columns"), SIZES)
def test_layouts_edges_and_threads(
    module: kina.Module, rows: int, depth: int, columns: int
) -> None:
    rng = np.random.default_rng([rows, depth, columns])
    x, w = rng.standard_normal((rows, depth), np.float32), rng.standard_normal((depth, columns))
    w = w.astype(np.float32)
    wanted = ordered_product(x, w)
    for threads in (1, 3):
        kina.set_num_threads(threads)
        for name, operands in layouts(x, w).items():
            assert module[name](*operands).tobytes() == wanted.tobytes(), name
        first = module.vector(x, np.ascontiguousarray(w[:, :1]))
        assert first.tobytes() == wanted[:, :1].tobytes()
        three = module.narrow(x, np.ascontiguousarray(w[:, :3]))
        assert three.tobytes() == wanted[:, :3].tobytes()


@pytest.mark.parametrize(("rows", "depth", "columns"), SIZES[:7])
def test_weights_are_widened_as_they_are_read(
    module: kina.Module, rows: int, depth: int, columns: int
) -> None:
    rng = np.random.default_rng([rows, depth, columns])
    x = rng.standard_normal((rows, depth), np.float32)
    small = rng.integers(-128, 128, (columns, depth)).astype(np.int8)
    scales = rng.standard_normal(columns).astype(np.float32)
    half = rng.standard_normal((columns, depth)).astype(ml_dtypes.bfloat16)
    bias = rng.standard_normal(columns).astype(np.float32)
    total = ordered_product(x, np.ascontiguousarray(half.astype(np.float32).T)) + bias
    assert module.weights(x, half, bias).tobytes() == total.astype(ml_dtypes.bfloat16).tobytes()
    scaled = np.ascontiguousarray((small.astype(np.float32) * scales[:, None]).T)
    assert module.quantised(x, small, scales).tobytes() == ordered_product(x, scaled).tobytes()
    for name, dtype in (("halves", np.float16), ("bytes", ml_dtypes.float8_e4m3fn)):
        narrow = rng.standard_normal((columns, depth)).astype(dtype)
        wanted = ordered_product(x, np.ascontiguousarray(narrow.astype(np.float32).T))
        assert module[name](x, narrow).tobytes() == wanted.tobytes(), name
    turned = np.ascontiguousarray(small.T)
    wanted = ordered_product(x, turned.astype(np.float32))
    assert module.by_column(x, turned).tobytes() == wanted.tobytes()


def test_a_batch_inside(module: kina.Module) -> None:
    rng = np.random.default_rng(2)
    q, k = rng.standard_normal((21, 3, 40), np.float32), rng.standard_normal((35, 3, 40))
    k = k.astype(np.float32)
    got = module.heads(q, k)
    for head in range(3):
        wanted = ordered_product(q[:, head], np.ascontiguousarray(k[:, head].T))
        assert got[head].tobytes() == wanted.tobytes()


@pytest.mark.parametrize("rows", [1, 4, 8, 45])
@pytest.mark.parametrize("name", SIGNATURES)
def test_the_tree_of_additions_is_a_chain_in_order(
    module: kina.Module, name: str, rows: int
) -> None:
    """Ones, 2^60 at i and its negative at j: what is left are the ones behind j, for any chain."""
    depth, large = 70, np.float32(2.0**60)
    rng = np.random.default_rng(rows)
    pairs = [sorted(rng.choice(depth, 2, replace=False)) for _ in range(rows)]
    x = np.ones((rows, depth), np.float32)
    for row, (i, j) in zip(x, pairs, strict=True):
        row[i], row[j] = large, -large
    got = module[name](*layouts(x, np.ones((depth, 40), np.float32))[name])
    assert got.tolist() == [[depth - 1 - j] * 40 for _, j in pairs]


@pytest.mark.parametrize("name", SIGNATURES)
def test_the_whole_tree_is_recovered(module: kina.Module, name: str) -> None:
    """What is added before 0 and j meet: the sizes 2, 3, 4, … are those of one chain, in order.

    Over more than one block of k and of rows, shared by threads.
    """
    depth, large = 1100, np.float32(2.0**60)
    x = np.ones((depth - 1, depth), np.float32)
    x[:, 0] = large
    x[np.arange(depth - 1), np.arange(1, depth)] = -large
    kina.set_num_threads(3)
    got = module[name](*layouts(x, np.ones((depth, 35), np.float32))[name])
    sizes = depth - got
    assert (sizes == np.arange(2, depth + 1)[:, None]).all()


@pytest.mark.parametrize(("rows", "columns"), [(3, 5), (40, 70), (0, 5), (4, 0)])
def test_sums_of_nothing_are_zeros(module: kina.Module, rows: int, columns: int) -> None:
    x, w = np.ones((rows, 0), np.float32), np.ones((0, columns), np.float32)
    for name, operands in layouts(x, w).items():
        result = np.full((rows, columns), 7, np.float32)
        module[name](*operands, out=result)
        assert not result.any(), name


@pytest.mark.parametrize(
    ("name", "rows", "depth", "dtype"),
    [("lines", 1, 256, np.float32), ("lines_of_bytes", 2, 512, np.int8)],
)
def test_weights_begin_anywhere_in_a_line(
    module: kina.Module, name: str, rows: int, depth: int, dtype: type
) -> None:
    """What comes before the first line is done first: each chain stays in order."""
    random = np.random.default_rng(3)
    x = random.standard_normal((rows, depth), np.float32)
    w = (random.standard_normal((40, depth)) * 30).astype(dtype)
    memory = np.zeros(w.size + 256, dtype)
    first_line = -memory.ctypes.data % 64 // memory.itemsize
    wanted = ordered_product(x, w.astype(np.float32).T).tobytes()
    for off in (0, 1, 7, 15, 16, 48 // memory.itemsize):
        moved = memory[first_line + off :][: w.size].reshape(w.shape)
        moved[...] = w
        assert module[name](x, moved).tobytes() == wanted, off
