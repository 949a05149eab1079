"""Dimensions that are computed from symbols: through every pass, at calls, in gradients."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import kina
from kina.arrays import Array

PROGRAM = """
let heads = fn(x: tensor<F32, [T, 3 * D]>, y: tensor<F32, [D]>) -> (
  tensor<F32, [3, T, D]>, tensor<F32, [T, 3 * D]>, tensor<F32, [3 * T, D]>, tensor<F32, [T, 3, D]>
) {
  let z = x.reshape([T, 3, D]) + y.reshape([1, 1, D]).broadcast([T, 3, D]) in
  (x.reshape([3, T, D]), (z * z).reshape([T, D * 3]) + x, z.reshape([T * 3, D]), z)
}
let tail = fn(x: tensor<F32, [T + 1, V]>, t: tensor<F32, [T]>) -> (
  tensor<F32, [T + 1]>, tensor<F32, [V * (T + 1)]>
) {
  let s = x.reduce(op=sum, axis=1) in
  (s + s, x.reshape([T * V + V]))
}
let merged = fn(x: tensor<F32, [T, H, K]>) -> (
  tensor<F32, [T, H * K]>, tensor<F32, [H * K]>, tensor<F32, [T, H, K]>
) {
  let flat = x.reshape([T, H * K]) in
  (flat.softmax(axis=1), flat.reduce(op=sum, axis=0), flat.reshape([T, H, K]))
}
let rows = fn(
  table: tensor<F32, [2 * N, D]>, ids: tensor<I64, [T - 1]>,
  n: tensor<F32, [N]>, t: tensor<F32, [T]>
) -> tensor<F32, [T - 1, D]> { table.gather(ids) }
let called = fn(
  a: tensor<F32, [N, H, K]>, b: tensor<F32, [N + 2, 2 * H]>, c: tensor<F32, [N + 1]>
) -> (tensor<F32, [N, H * K]>, tensor<F32, [2 + N]>) {
  let (p, q, r) = merged(a) in
  let (u, v) = tail(b, c) in
  (p, u)
}
let loss = fn(x: tensor<F32, [T + 1, V]>, t: tensor<F32, [T]>) -> tensor<F32, []> {
  let y = x.reshape([T * V + V]) in
  (y * y).reduce(op=sum, axis=0) + t.reduce(op=sum, axis=0)
}
let dloss = reverseMode(loss)
let outer = fn(x: tensor<F32, [A]>) -> tensor<F32, [4096 * A]> {
  x.reshape([A, 1]).broadcast([A, 4096]).reshape([4096 * A])
}
let _step = fn(x: tensor<F32, [T]>, n: size) -> tensor<F32, [n, T + 1]> {
  let y = x.reshape([1, T]).broadcast([n, T]) in
LONG
  y.reduce(op=sum, axis=1).reshape([n, 1]).broadcast([n, T + 1])
}
let grown = fn(n: size, x: tensor<F32, [T]>, m: size) -> (
  tensor<F32, [n + 1, T + 1]>, tensor<F32, [4, T + 1]>, tensor<F32, [m + n]>
) {
  (_step(x, n=n + 1) CALLS, _step(x, 4), tensor<F32, [n + m]>(2.5))
}
let spread = fn(x: tensor<F32, [T]>, n: size) -> tensor<F32, [n, T]> {
  let y = x.reshape([1, T]).broadcast([n, T]) in y * y
}
let dspread = reverseMode(spread)
""".replace("LONG", "  let y = -(y + y) * 0.5 in\n" * 8).replace("CALLS", "+ _step(x, 1 + n)" * 8)


@pytest.fixture(scope="module")
def module() -> Any:
    return kina.compile(PROGRAM, threads=False)


def draw(*shape: int) -> Array:
    return np.random.default_rng(list(shape)).standard_normal(shape).astype(np.float32)


SIZES = [(4, 5), (1, 1), (7, 64), (300, 500)]


@pytest.mark.parametrize(("t", "d"), SIZES)
def test_products(module: Any, t: int, d: int) -> None:
    x, y = draw(t, 3 * d), draw(d)
    z = x.reshape(t, 3, d) + y
    expected = [x.reshape(3, t, d), (z * z).reshape(t, 3 * d) + x, z.reshape(3 * t, d), z]
    for got, wanted in zip(module.heads(x, y), expected, strict=True):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize(("t", "d"), SIZES)
def test_sums(module: Any, t: int, d: int) -> None:
    x, ones = draw(t + 1, d), np.ones(t, np.float32)
    sums, flat = module.tail(x, ones)
    np.testing.assert_allclose(sums, 2 * x.sum(axis=1), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(flat, x.reshape(-1))
    out = np.empty((t, d), np.float32)
    ids = np.arange(t) % 2
    assert module.rows(x[:1].repeat(2, 0), ids, draw(1), draw(t + 1), out=out) is out
    np.testing.assert_array_equal(out, x[:1].repeat(t, 0))


@pytest.mark.parametrize(("t", "d"), SIZES)
def test_calls_bind_symbols_to_what_is_computed(module: Any, t: int, d: int) -> None:
    a, b, c = draw(t, 3, d), draw(t + 2, 6), draw(t + 1)
    merged, sums, back = module.merged(a)
    np.testing.assert_array_equal(back, a)
    np.testing.assert_allclose(sums, a.reshape(t, -1).sum(axis=0), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(merged, module.merged.reference(a)[0], rtol=1e-5)
    rows, twice = module.called(a, b, c)
    np.testing.assert_array_equal(rows, merged)
    np.testing.assert_array_equal(twice, module.tail(b, c)[0])
    np.testing.assert_allclose(twice, module.called.reference(a, b, c)[1], rtol=1e-4, atol=1e-5)


def test_gradients(module: Any) -> None:
    x = draw(8, 3)
    _, by_x, by_t = module.dloss(x, draw(7))
    np.testing.assert_array_equal(by_x, 2 * x)
    np.testing.assert_array_equal(by_t, np.ones(7, np.float32))


def test_a_dimension_that_is_not_what_its_symbols_make_it(module: Any) -> None:
    wrong = r"tail: dimension 'T \+ 1' of parameter 'x' is 4, expected 5 \(T = 4\)"
    with pytest.raises(kina.KinaValueError, match=wrong):
        module.tail(draw(4, 2), draw(4))
    wrong = r"heads: dimension '3 \* D' of parameter 'x' is 5, expected 6 \(D = 2\)"
    with pytest.raises(kina.KinaValueError, match=wrong):
        module.heads(draw(4, 5), draw(2))
    with pytest.raises(kina.KinaValueError, match="expected shape"):
        module.tail(draw(5, 2), draw(4), out=(None, draw(11)))


def test_the_type_shows_normal_forms(module: Any) -> None:
    assert str(module.tail.type) == (
        "tail(x: tensor<F32, [T + 1, V]>, t: tensor<F32, [T]>) -> "
        "(tensor<F32, [T + 1]>, tensor<F32, [T * V + V]>)"
    )


@pytest.mark.parametrize("size", [2**48, 2**52, 2**60, 2**63 - 1])
def test_a_size_past_every_memory_is_no_memory(module: Any, size: int) -> None:
    """4096 * 2^52 is 0 in 64 bits: a caller in C gets the status, nothing is written."""
    library = ctypes.CDLL(str(module.library_path))
    one = np.full(1, 7, np.float32)
    pointer = one.ctypes.data_as(ctypes.c_void_p)
    assert library.kina_outer(ctypes.c_int64(size), pointer, pointer) == -1
    assert one[0] == 7


@pytest.mark.parametrize(("n", "t", "m"), [(1, 1, 1), (4, 3, 2), (100, 700, 5)])
def test_size_parameters(module: Any, n: int, t: int, m: int) -> None:
    """`_step` is too large to be copied into its nine calls, so its sizes go through C."""
    x = np.ones(t, np.float32)
    for function in (module.grown, module.grown.reference):
        rows, four, constant = function(n, x, m=np.int64(m))
        np.testing.assert_array_equal(rows, np.full((n + 1, t + 1), 9 * t))
        np.testing.assert_array_equal(four, np.full((4, t + 1), t))
        np.testing.assert_array_equal(constant, np.full(m + n, 2.5))
    result, by_x = module.dspread(x, n, np.ones((n, t), np.float32))
    assert result.shape == (n, t)
    np.testing.assert_array_equal(by_x, np.full(t, 2 * n))


def test_a_call_that_stays_a_call_passes_sizes(module: Any) -> None:
    assert "sizes" in module.mlir("kina")
    assert "func.call @_step" in module.mlir("linalg")


@pytest.mark.parametrize(
    ("size", "error", "message"),
    [
        (True, kina.KinaTypeError, "parameter 'n' is a size: expected an integer, got True"),
        (1.5, kina.KinaTypeError, "parameter 'n' is a size: expected an integer, got 1.5"),
        (np.arange(2), kina.KinaTypeError, "parameter 'n' is a size: expected an integer"),
        (-1, kina.KinaValueError, "parameter 'n' is -1, expected a size"),
        (2**63, kina.KinaValueError, "parameter 'n' is 9223372036854775808, expected a size"),
        (2**62, MemoryError, "no memory"),
    ],
)
def test_wrong_sizes(module: Any, size: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        module.grown(size, np.ones(3, np.float32), 2)


def test_sizes_in_the_type() -> None:
    source = "let f = fn(x: tensor<F32, [n]>, n: size, out: size) -> tensor<F32, [out]> { "
    module = kina.compile(source + "tensor<F32, [out]>(1) }")
    assert str(module.f.type) == "f(x: tensor<F32, [n]>, n: size, out: size) -> tensor<F32, [out]>"
    assert module.f(np.ones(3, np.float32), 3, 2).shape == (2,)
    wrong = "dimension 'n' is 4 in parameter 'n' and 3 in parameter 'x', expected one size"
    with pytest.raises(kina.KinaValueError, match=wrong):
        module.f(np.ones(3, np.float32), 4, 2)
