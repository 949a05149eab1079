"""Factors that a program rounds to few bits and widens again: memory holds the few bits."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import kina
from kina.backend.lowering import lower
from kina.backend.options import Options
from kina.frontend.check import check
from kina.frontend.source import Source
from kina.order import ordered_product

FACTOR = """
let f{n} = fn(x: tensor<F32, [N, 96]>, w: tensor<{wide}, [96, 40]>) -> tensor<{wide}, [N, 40]> {{
  let m = x.abs().reduce_keep(op=max, axis=1) in
  (x / m.broadcast([N, 96]) * 100.0).cast({narrow}).cast({wide}).matmul(w)
}}
"""
PAIRS = {
    ("I8", "I32"): 1,
    ("I16", "I32"): 2,
    ("I8", "F32"): 1,
    ("BF16", "F32"): 2,
    ("F16", "F32"): 2,
    ("I32", "F32"): 4,
}
"""What is rounded to and what it is widened to, with the bytes of an element in memory."""
DTYPES = {
    "I8": np.int8,
    "I16": np.int16,
    "I32": np.int32,
    "BF16": ml_dtypes.bfloat16,
    "F16": np.float16,
}
SEVERAL = """
let f = fn(x: tensor<F32, [N, 256]>) -> (tensor<F32, [N]>, tensor<F32, [N]>, tensor<F32, [N]>) {
  let e = x VALUE in
  let q = (e * 9.0).cast(I8).cast(F32) in
  (q.reduce(op=sum, axis=1), (q * x).reduce(op=sum, axis=1).exp(), (q / x).reduce(op=max, axis=1))
}
""".replace("VALUE", ".tanh().exp()" * 5)
RESULT = """
let f = fn(x: tensor<F32, [N, 96]>, w: tensor<I32, [96, 40]>)
    -> (tensor<I32, [N, 40]>, tensor<I32, [N, 96]>) {
  let m = x.abs().reduce_keep(op=max, axis=1) in
  let q = (x / m.broadcast([N, 96]) * 100.0).cast(I8).cast(I32) in
  (q.matmul(w), q)
}
"""
ROW = """
let f = fn(x: tensor<F32, [N, 96]>) -> tensor<F32, [N, 96]> {
  x / x.abs().reduce_keep(op=max, axis=1).cast(BF16).cast(F32).broadcast([N, 96])
}
"""


def moved(text: str) -> list[str]:
    """What each kernel moves."""
    kernels = lower(check(Source("t.kina", text)), Options(threads=False)).kernels
    return [line.split(": ")[1] for line in kernels if "bytes moved" in line]


@pytest.mark.parametrize(("pair", "size"), PAIRS.items(), ids=["-".join(pair) for pair in PAIRS])
def test_a_factor_is_stored_as_it_was_before_it_was_widened(
    pair: tuple[str, str], size: int
) -> None:
    made, multiplied = moved(FACTOR.format(n=0, narrow=pair[0], wide=pair[1]))
    x, stored = "384 * N", f"{96 * size} * N x 1"
    assert made == (f"{x} x 3" if size == 4 else f"{x} x 2 + {stored}")
    assert multiplied.startswith(stored)


def test_what_costs_too_much_is_stored_narrow_too() -> None:
    assert any("256 * N x" in line for line in moved(SEVERAL))


def test_a_product_reads_the_narrow_one_beside_a_result() -> None:
    made, multiplied = moved(RESULT)
    assert made.endswith("96 * N x 1")
    assert multiplied.startswith("96 * N x 1")


def test_a_value_of_a_row_stays_in_its_loop() -> None:
    assert len(moved(ROW)) == 1


def test_bits() -> None:
    """Those of rounded factors, in the language's order, for any number of rows."""
    text = "".join(
        FACTOR.format(n=n, narrow=narrow, wide=wide) for n, (narrow, wide) in enumerate(PAIRS)
    )
    module = kina.compile(text + RESULT, threads=False)
    rng = np.random.default_rng(7)
    for rows in (1, 3, 20):
        x = rng.standard_normal((rows, 96), np.float32)
        scaled = x / np.abs(x).max(axis=1, keepdims=True) * np.float32(100)
        w = rng.integers(-99, 99, (96, 40), np.int32)
        for n, (narrow, wide) in enumerate(PAIRS):
            q = scaled.astype(DTYPES[narrow])
            if wide == "I32":
                np.testing.assert_array_equal(module[f"f{n}"](x, w), q.astype(np.int32) @ w)
                continue
            wanted = ordered_product(q.astype(np.float32), w.astype(np.float32))
            assert module[f"f{n}"](x, w.astype(np.float32)).tobytes() == wanted.tobytes()
        product, factor = module.f(x, w)
        np.testing.assert_array_equal(factor, scaled.astype(np.int8))
        np.testing.assert_array_equal(product, factor @ w)
