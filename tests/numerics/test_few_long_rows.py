"""Fewer rows than threads: pieces of a row on several threads give the bits of the whole row.

Sizes lie around multiples of a chunk and of the lanes, and make every call long enough for
threads. What one thread computes goes by rows, and is itself compared with a batch.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np
import pytest

import kina
from helpers.inputs import PROFILES, random_argument
from helpers.replay import differences
from kina.order import ordered_sum

N = 1 << 20
SIZES = (N - 1, N, N + 1, N + 16383, N + 16448)
ROWS = """
let sums = fn(x: tensor<F32, [B, N]>) -> (
  tensor<F32, [B]>, tensor<F32, [B]>, tensor<F32, [B]>, tensor<F32, [B]>
) { (x.reduce(op=sum, axis=1), x.reduce(op=mean, axis=1), x.reduce(op=max, axis=1),
  x.reduce(op=min, axis=1)) }
let largest = fn(x: tensor<F32, [B, N]>) -> tensor<I64, [B]> { x.reduce(op=argmax, axis=1) }
let largest_BF16 = fn(x: tensor<BF16, [B, N]>) -> tensor<I64, [B]> { x.reduce(op=argmax, axis=1) }
let sum_F16 = fn(x: tensor<F16, [B, N]>) -> tensor<F16, [B]> { x.reduce(op=sum, axis=1) }
let sum_I32 = fn(x: tensor<I32, [B, N]>) -> tensor<I32, [B]> { x.reduce(op=sum, axis=1) }
let weights = fn(x: tensor<F32, [B, N]>) -> tensor<F32, [B, N]> { x.softmax(axis=1) }
let logp = fn(x: tensor<F32, [B, N]>) -> tensor<F32, [B, N]> { x.log_softmax(axis=1) }
let logp_BF16 = fn(x: tensor<BF16, [B, N]>) -> tensor<BF16, [B, N]> {
  x.log_softmax(axis=1)
}
let nll = fn(x: tensor<F32, [B, N]>, t: tensor<I64, [B]>) -> tensor<F32, [B]> {
  -x.log_softmax(axis=1).take_along_axis(t, axis=1)
}
let both = fn(x: tensor<F32, [B, N]>, t: tensor<I64, [B]>) -> (
  tensor<F32, [B]>, tensor<F32, [B, N]>, tensor<F32, [B]>
) {
  let p = x.log_softmax(axis=1) in
  (-p.take_along_axis(t, axis=1), p, p.reduce(op=sum, axis=1))
}
let dnll = reverseMode(nll, wrt=[x])
let sample = fn(x: tensor<F32, [B, N]>, u: tensor<F32, [B, N]>) -> tensor<I64, [B]> {
  (x - log(-log(u))).reduce(op=argmax, axis=1)
}
let centred = fn(x: tensor<F32, [B, N]>) -> (tensor<F32, [B]>, tensor<F32, [B, N]>) {
  let c = x - x.reduce_keep(op=mean, axis=1).broadcast([B, N]) in
  ((c * c).reduce(op=mean, axis=1), c)
}
let gathered = fn(table: tensor<F32, [B, N]>, in_B: tensor<I64, [B]>) -> (
  tensor<F32, [B]>, tensor<F32, [B]>
) {
  let x = table.gather(in_B) in
  (x.reduce(op=max, axis=1), (x - x.reduce_keep(op=max, axis=1).broadcast([B, N]))
    .exp().reduce(op=sum, axis=1))
}
"""
COLUMNS = """
let sums = fn(x: tensor<F32, [N, 8]>) -> (tensor<F32, [8]>, tensor<F32, [8]>, tensor<I64, [8]>) {
  (x.reduce(op=sum, axis=0), x.reduce(op=max, axis=0), x.reduce(op=argmax, axis=0))
}
let logp = fn(x: tensor<F32, [N, 70]>) -> tensor<F32, [N, 70]> { x.log_softmax(axis=0) }
let inner = fn(x: tensor<F32, [A, N, 3]>) -> (tensor<F32, [A, 3]>, tensor<F32, [A, N, 3]>) {
  (x.reduce(op=mean, axis=1), x.softmax(axis=1))
}
let single = fn(x: tensor<F32, [N, 1]>) -> tensor<F32, [1]> { x.reduce(op=sum, axis=0) }
"""
Arrays = Sequence[np.ndarray]


@pytest.fixture(scope="module")
def rows() -> kina.Module:
    return kina.compile(ROWS)


@pytest.fixture(autouse=True)
def any_threads() -> Iterator[None]:
    """Leaves the number of threads as it was."""
    yield
    kina.set_num_threads(os.cpu_count() or 1)


def arguments(function: kina.Function, rows: int, size: int, profile: str) -> list[np.ndarray]:
    """One array for each parameter."""
    rng = np.random.default_rng([rows, size, PROFILES.index(profile)])
    sizes = {"A": rows, "B": rows, "N": size}
    return [
        random_argument(rng, parameter, sizes, profile) for parameter in function.type.parameters
    ]


def results(function: kina.Function, arrays: Arrays, threads: int) -> Arrays:
    """What a call returns, with so many threads at most."""
    kina.set_num_threads(threads)
    returned = function(*arrays)
    return returned if isinstance(returned, tuple) else [returned]


def check_threads(function: kina.Function, arrays: Arrays) -> Arrays:
    """Any number of threads gives the bits of one, which are returned."""
    alone = results(function, arrays, 1)
    for threads in (2, 3, 4):
        found = differences(function.type, results(function, arrays, threads), alone)
        assert found == [], f"{function.name}, {threads} threads"
    return alone


@pytest.mark.parametrize("size", SIZES)
def test_one_row(rows: kina.Module, size: int) -> None:
    for name in rows:
        check_threads(rows[name], arguments(rows[name], 1, size, "plain"))


@pytest.mark.parametrize("profile", ["special", "ties"])
def test_three_rows_of_unusual_numbers(rows: kina.Module, profile: str) -> None:
    for name in rows:
        check_threads(rows[name], arguments(rows[name], 3, N // 2 + 1, profile))


@pytest.mark.parametrize("value", [np.nan, -np.inf, np.inf])
@pytest.mark.parametrize("place", [0, N, slice(None)])
def test_one_unusual_number(rows: kina.Module, value: float, place: int | slice) -> None:
    """In the first piece, in the short last one, or everywhere."""
    for name in ("sums", "largest", "weights", "both", "sample", "centred"):
        arrays = arguments(rows[name], 1, N + 1, "plain")
        arrays[0][0, place] = value
        check_threads(rows[name], arrays)


@pytest.mark.parametrize("name", ["sums", "largest_BF16", "both", "dnll", "sample"])
def test_a_row_has_the_bits_that_it_has_in_a_batch(rows: kina.Module, name: str) -> None:
    """On two threads a batch goes by rows, the row by pieces."""
    function = rows[name]
    arrays = arguments(function, 64, (1 << 18) + 100, "plain")
    batch = results(function, arrays, 2)
    for row in (0, 63):
        alone = results(function, [array[row : row + 1] for array in arrays], 2)
        wanted = [array[row : row + 1] for array in batch]
        assert differences(function.type, alone, wanted) == []


def test_sums_are_in_the_order_of_the_language(rows: kina.Module) -> None:
    for size in SIZES:
        (x,) = arguments(rows.sums, 1, size, "plain")
        np.testing.assert_array_equal(results(rows.sums, [x], 2)[0], ordered_sum(x, 1))


def test_static_sizes() -> None:
    size = N + 16448
    static = kina.compile(ROWS.replace("[B", "[1").replace(" N]", f" {size}]"))
    symbolic = kina.compile(ROWS)
    for name in static:
        arrays = arguments(static[name], 1, size, "plain")
        alone = check_threads(static[name], arrays)
        assert differences(static[name].type, alone, results(symbolic[name], arrays, 1)) == []


@pytest.mark.parametrize("size", [4095, 4096, N // 8 + 1, N // 4 + 65])
def test_few_columns(size: int) -> None:
    columns = kina.compile(COLUMNS)
    for name in columns:
        arrays = arguments(columns[name], 1, size, "plain")
        alone = check_threads(columns[name], arrays)
        if name in ("sums", "single"):
            np.testing.assert_array_equal(alone[0], ordered_sum(arrays[0], 0))
