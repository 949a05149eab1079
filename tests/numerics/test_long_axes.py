"""Long axes: the accuracy that the language states, and the order that it fixes.

The order makes results the same for every target, any number of threads, static and symbolic
shapes, and a row alone or in a batch.
"""

from __future__ import annotations

import numpy as np
import pytest

import kina
from kina.order import ordered_sum

TEXT = """
let row_sum = fn(x: tensor<F32, [B, N]>) -> tensor<F32, [B]> { x.reduce(op=sum, axis=1) }
let row_mean = fn(x: tensor<F32, [B, N]>) -> tensor<F32, [B]> { x.reduce(op=mean, axis=1) }
let column_sum = fn(x: tensor<F32, [N, B]>) -> tensor<F32, [B]> { x.reduce(op=sum, axis=0) }
let middle_sum = fn(x: tensor<F32, [A, N, B]>) -> tensor<F32, [A, B]> { x.reduce(op=sum, axis=1) }
let half_sum = fn(x: tensor<F16, [B, N]>) -> tensor<F16, [B]> { x.reduce(op=sum, axis=1) }
let rows = fn(x: tensor<F32, [B, N]>) -> tensor<F32, [B, N]> { x.log_softmax(axis=1) }
let nll = fn(x: tensor<F32, [B, N]>, t: tensor<I64, [B]>) -> tensor<F32, [B]> {
  -x.log_softmax(axis=1).take_along_axis(t, axis=1)
}
let static_rows = fn(x: tensor<F32, [3, 1000]>) -> tensor<F32, [3, 1000]> { x.log_softmax(axis=1) }
let static_columns = fn(x: tensor<F32, [130, 5]>) -> tensor<F32, [5]> { x.reduce(op=sum, axis=0) }
"""

LENGTHS = (1, 2, 31, 63, 64, 65, 127, 128, 1000, 16383, 16384, 16385, 50257, 131072)


@pytest.fixture(scope="module")
def module() -> kina.Module:
    return kina.compile(TEXT)


def numbers(seed: int, *shape: int, scale: float = 3.0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, scale, shape).astype(np.float32)


def log_softmax_f64(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    shifted = wide - wide.max(1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(1, keepdims=True))


def assert_within(got: np.ndarray, exact: np.ndarray) -> None:
    """4 ulp + 1e-6 of a float64 computation."""
    ulp = np.spacing(np.abs(exact).astype(np.float32)).astype(np.float64)
    worst = np.abs(got - exact) - 4 * ulp
    assert (worst <= 1e-6).all(), f"off by {worst.max()} beyond 4 ulp"


def check_accuracy(module: kina.Module, length: int) -> None:
    for scale in (0.01, 3.0, 30.0):
        x = numbers(length, 2, length, scale=scale)
        targets = np.array([0, length - 1])
        exact = log_softmax_f64(x)
        assert_within(module.rows(x), exact)
        assert_within(module.nll(x, targets), -exact[[0, 1], targets])


@pytest.mark.parametrize("length", [length for length in LENGTHS if length < 10000])
def test_log_softmax_and_nll_of_rows(module: kina.Module, length: int) -> None:
    check_accuracy(module, length)


@pytest.mark.parametrize("length", [length for length in LENGTHS if length > 10000])
def test_log_softmax_and_nll_of_long_rows(module: kina.Module, length: int) -> None:
    check_accuracy(module, length)


@pytest.mark.parametrize("value", [-0.0, 1.5, -2.75])
def test_a_uniform_row_is_as_accurate_as_any(module: kina.Module, value: float) -> None:
    """A sum that drifts shows here first: 131072 equal terms, no chance for errors to cancel."""
    x = np.full((1, 131072), value, np.float32)
    assert_within(module.rows(x), np.full((1, 131072), -np.log(131072.0)))


@pytest.mark.parametrize("length", LENGTHS)
def test_a_row_alone_has_the_bits_it_has_in_a_batch(module: kina.Module, length: int) -> None:
    x = numbers(length, 3, length)
    for name in ("row_sum", "row_mean", "rows"):
        batch = module[name](x)
        for row in range(3):
            np.testing.assert_array_equal(module[name](x[row : row + 1])[0], batch[row])


def test_static_and_symbolic_shapes_have_the_same_bits(module: kina.Module) -> None:
    x = numbers(1, 3, 1000)
    np.testing.assert_array_equal(module.static_rows(x), module.rows(x))
    y = numbers(2, 130, 5)
    np.testing.assert_array_equal(module.static_columns(y), module.column_sum(y))


def test_static_whole_chunks_have_the_same_bits(module: kina.Module) -> None:
    """No chunk is left over; common sizes of vocabularies are such."""
    lengths = (16384, 32768, 49152, 131072, 262144)
    text = "".join(
        f"""
let rows_{n} = fn(x: tensor<F32, [3, {n}]>) -> tensor<F32, [3, {n}]> {{ x.log_softmax(axis=1) }}
let one_{n} = fn(x: tensor<F32, [1, {n}]>) -> tensor<F32, [1]> {{ x.reduce(op=sum, axis=1) }}
let column_{n} = fn(x: tensor<F32, [{n}, 3]>) -> tensor<F32, [3]> {{ x.reduce(op=sum, axis=0) }}
"""
        for n in lengths
    )
    static = kina.compile(text)
    for n in lengths:
        x = numbers(n, 3, n)
        np.testing.assert_array_equal(static[f"rows_{n}"](x), module.rows(x))
        np.testing.assert_array_equal(static[f"one_{n}"](x[:1]), ordered_sum(x[:1], 1))
        columns = x.reshape(n, 3)
        np.testing.assert_array_equal(static[f"column_{n}"](columns), ordered_sum(columns, 0))


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_any_number_of_threads_gives_the_same_bits(module: kina.Module, threads: int) -> None:
    x = numbers(3, 2, 131072)
    wanted = module.row_sum(x)
    kina.set_num_threads(threads)
    try:
        np.testing.assert_array_equal(module.row_sum(x), wanted)
        np.testing.assert_array_equal(module.rows(x), module.rows(x.copy()))
    finally:
        kina.set_num_threads(2)


def test_the_last_axis_is_summed_in_lanes_and_chunks(module: kina.Module) -> None:
    for length in LENGTHS:
        x = numbers(length, 2, length)
        wanted = ordered_sum(x, 1)
        np.testing.assert_array_equal(module.row_sum(x), wanted)
        np.testing.assert_array_equal(module.row_mean(x), wanted / np.float32(length))
        halves = x.astype(np.float16)
        ordered = ordered_sum(halves.astype(np.float32), 1).astype(np.float16)
        np.testing.assert_array_equal(module.half_sum(halves), ordered)


def test_other_axes_are_summed_in_blocks(module: kina.Module) -> None:
    for length in LENGTHS:
        x = numbers(length, length, 3)
        np.testing.assert_array_equal(module.column_sum(x), ordered_sum(x, 0))
        y = numbers(length, 2, length, 3)
        np.testing.assert_array_equal(module.middle_sum(y), ordered_sum(y, 1))
