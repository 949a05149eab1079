"""Products of small integers: exact, by whatever instructions, tiles, blocks and threads.

The model is NumPy's product in 64 bits, of which the lowest bits are the result.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import kina
from kina.backend.targets import host_machine

TURNED = {
    "nn": ("[M, K]", "[K, N]", "x", "w"),
    "nt": ("[M, K]", "[N, K]", "x", "w.transpose([1, 0])"),
    "tn": ("[K, M]", "[K, N]", "x.transpose([1, 0])", "w"),
    "tt": ("[K, M]", "[N, K]", "x.transpose([1, 0])", "w.transpose([1, 0])"),
}
SOURCE = "".join(
    f"let {name} = fn(x: tensor<I8, {x}>, w: tensor<I8, {w}>) -> tensor<I32, [M, N]> "
    f"{{ {left}.cast(I32).matmul({right}.cast(I32)) }}\n"
    for name, (x, w, left, right) in TURNED.items()
)
LINES = """
let lines = fn(x: tensor<I8, [32, 512]>, w: tensor<I8, [512, 384]>) -> tensor<I32, [32, 384]> {
  x.cast(I32).matmul(w.cast(I32))
}
let one = fn(x: tensor<I8, [1, 512]>, w: tensor<I8, [512, 960]>) -> tensor<I32, [1, 960]> {
  x.cast(I32).matmul(w.cast(I32))
}
"""
OTHERS = """
let words = fn(x: tensor<I16, [M, K]>, w: tensor<I8, [K, N]>) -> tensor<I32, [M, N]> {
  x.cast(I32).matmul(w.cast(I32))
}
let narrow = fn(x: tensor<I8, [15, K]>, w: tensor<I8, [K, 70]>) -> tensor<I8, [15, 70]> {
  x.matmul(w)
}
let narrow_words = fn(x: tensor<I16, [15, 33]>, w: tensor<I16, [70, 33]>)
    -> tensor<I16, [15, 70]> {
  x.matmul(w.transpose([1, 0]))
}
let heads = fn(x: tensor<I8, [9, 3, 70]>, w: tensor<I8, [33, 3, 70]>) -> tensor<I32, [3, 9, 33]> {
  x.transpose([1, 0, 2]).cast(I32).matmul(w.transpose([1, 2, 0]).cast(I32))
}
let beside = fn(x: tensor<I8, [1, K]>, w: tensor<I8, [K, 70]>, v: tensor<I8, [K, 70]>)
    -> tensor<I32, [1, 70]> {
  x.cast(I32).matmul(w.cast(I32)) + x.cast(I32).matmul(v.cast(I32))
}
let scaled = fn(x: tensor<F32, [M, 100]>, w: tensor<I8, [100, N]>, s: tensor<F32, [N]>)
    -> tensor<F32, [M, N]> {
  let m = x.abs().reduce_keep(op=max, axis=1) / 127.0 in
  let q = (x / m.broadcast([M, 100])).round().cast(I8) in
  q.cast(I32).matmul(w.cast(I32)).cast(F32) * m.broadcast([M, N]) * s.broadcast([M, N])
}
let fixed = fn(x: tensor<I8, [30, 4100]>, w: tensor<I8, [4100, 96]>) -> tensor<I32, [30, 96]> {
  x.cast(I32).matmul(w.cast(I32))
}
"""
SIZES = (
    (1, 37, 50), (1, 5, 64), (2, 1030, 33), (3, 16, 64), (5, 4100, 17), (8, 64, 96),
    (9, 1500, 70), (15, 4100, 31), (43, 33, 130), (400, 3, 40), (0, 4, 9), (30, 0, 20),
)  # fmt: skip
LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4") if host_machine() == "x86_64" else ()


def random(shape: tuple[int, ...], dtype: type[np.signedinteger]) -> np.ndarray:
    """Any integers, the extremes among them often."""
    generator, limits = np.random.default_rng(shape), np.iinfo(dtype)
    made = generator.integers(limits.min, limits.max + 1, shape, dtype)
    made[generator.random(shape) < 0.2] = limits.min
    return made


def check(function: kina.Function, x: np.ndarray, w: np.ndarray, layout: str = "nn") -> None:
    """One product of operands as they are, and one of nothing but extremes."""
    extremes = [np.full_like(a, np.iinfo(a.dtype).min) for a in (x, w)]
    for left, right in ((x, w), extremes):
        sides = zip((left, right), layout, strict=True)
        operands = [np.ascontiguousarray(a.T) if side == "t" else a for a, side in sides]
        got = function(*operands)
        np.testing.assert_array_equal(got, (left.astype(np.int64) @ right).astype(got.dtype))


@pytest.fixture(scope="module")
def shared() -> Iterator[kina.Module]:
    """Those that threads may share."""
    yield kina.compile(SOURCE + LINES)
    kina.set_num_threads(None)


@pytest.fixture(scope="module")
def module() -> kina.Module:
    return kina.compile(OTHERS, threads=False)


@pytest.mark.parametrize("name", TURNED)
def test_every_layout(shared: kina.Module, name: str) -> None:
    for rows, depth, columns in SIZES:
        x, w = random((rows, depth), np.int8), random((depth, columns), np.int8)
        check(shared[name], x, w, name)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_large_ones_on_threads(shared: kina.Module, threads: int) -> None:
    kina.set_num_threads(threads)
    for rows, depth, columns in ((300, 700, 190), (1, 3000, 900), (7, 900, 1000)):
        x, w = random((rows, depth), np.int8), random((depth, columns), np.int8)
        check(shared["nn"], x, w)
        check(shared["nt"], x, w, "nt")


@pytest.mark.parametrize("threads", [2, 3, 4])
def test_a_share_of_the_columns_ends_where_it_does(shared: kina.Module, threads: int) -> None:
    """Columns that all together are whole lines, and those of a thread are not."""
    kina.set_num_threads(threads)
    x, w = random((32, 512), np.int8), random((512, 384), np.int8)
    held = np.full((34, 384), 77, np.int32)
    shared["lines"](x, w, out=held[1:33])
    np.testing.assert_array_equal(held[1:33], x.astype(np.int32) @ w)
    assert (held[[0, 33]] == 77).all()
    x, w = random((1, 512), np.int8), random((512, 960), np.int8)
    row = np.full((3, 960), 77, np.int32)
    shared["one"](x, w, out=row[1:2])
    np.testing.assert_array_equal(row[1:2], x.astype(np.int32) @ w)
    assert (row[[0, 2]] == 77).all()


def test_words_and_results_that_wrap(module: kina.Module) -> None:
    for rows, depth, columns in SIZES:
        x, w = random((rows, depth), np.int16), random((depth, columns), np.int8)
        check(module["words"], x, w)
    for depth in (1, 130, 4100):
        check(module["narrow"], random((15, depth), np.int8), random((depth, 70), np.int8))
    check(module["narrow_words"], random((15, 33), np.int16), random((33, 70), np.int16), "nt")
    check(module["fixed"], random((30, 4100), np.int8), random((4100, 96), np.int8))


def test_stacks_and_neighbours(module: kina.Module) -> None:
    x, w = random((9, 3, 70), np.int8), random((33, 3, 70), np.int8)
    wanted = np.einsum("msk,nsk->smn", x.astype(np.int32), w.astype(np.int32))
    np.testing.assert_array_equal(module["heads"](x, w), wanted)
    x, w, v = (random(shape, np.int8) for shape in ((1, 99), (99, 70), (99, 70)))
    wanted = x.astype(np.int32) @ w + x.astype(np.int32) @ v
    np.testing.assert_array_equal(module["beside"](x, w, v), wanted)


def test_rows_quantised_and_scaled_afterwards(module: kina.Module) -> None:
    for rows, columns in ((1, 960), (4, 33), (40, 70)):
        x = np.random.default_rng(rows).standard_normal((rows, 100), np.float32)
        w, s = random((100, columns), np.int8), np.linspace(-1, 1, columns, dtype=np.float32)
        got = module["scaled"](x, w, s)
        np.testing.assert_array_equal(got, module["scaled"].reference(x, w, s))


@pytest.mark.parametrize("level", LEVELS)
def test_every_level(level: str) -> None:
    module = kina.compile("".join(SOURCE.splitlines(True)[:2]), target=level, threads=False)
    for rows, depth, columns in ((1, 77, 70), (3, 130, 33), (20, 1100, 45)):
        x, w = random((rows, depth), np.int8), random((depth, columns), np.int8)
        check(module["nn"], x, w)
        check(module["nt"], x, w, "nt")
