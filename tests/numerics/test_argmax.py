"""argmax and argmin in lanes, of inputs and of what a program computes, along either axis."""

from __future__ import annotations

from functools import cache

import ml_dtypes
import numpy as np
import pytest

import kina

SOURCE = """let f_{rows}_{size} = fn(
  x: tensor<{dtype}, [{rows}, {size}]>, s: tensor<{dtype}, [{rows}, {size}]>
) -> (tensor<I64, [{rows}]>, tensor<I64, [{size}]>, tensor<I64, [{rows}]>,
      tensor<I64, [{rows}]>, tensor<I64, [{size}]>, tensor<I64, [{size}]>) {{
  let y = x * s in
  (y.reduce(op=argmax, axis=1), y.reduce(op=argmax, axis=0), x.reduce(op=argmax, axis=1),
   y.reduce(op=argmin, axis=1), y.reduce(op=argmin, axis=0), x.reduce(op=argmin, axis=0))
}}
"""
FLOATS = {"F32": np.float32, "BF16": ml_dtypes.bfloat16, "F16": np.float16}
INTEGERS = {"I32": np.int32, "I16": np.int16, "I8": np.int8, "I64": np.int64}
SIZES = [(1, 1), (3, 2), (7, 64), (65, 65), (5, 300), (2, 23)]


@cache
def both(dtype: str) -> tuple[kina.Module, kina.Module]:
    """The programs of all sizes on the fast way, and in the form of the specification."""
    shapes: list[tuple[int | str, int | str]] = [*SIZES, ("R", "N")]
    source = "".join(SOURCE.format(dtype=dtype, rows=rows, size=size) for rows, size in shapes)
    return kina.compile(source), kina.compile(source, fast=False)


def check(dtype: str, x: np.ndarray, *, symbolic: bool = False) -> None:
    name = "f_R_N" if symbolic else f"f_{x.shape[0]}_{x.shape[1]}"
    ones = np.ones_like(x)
    fast, plain = (module[name](x, ones) for module in both(dtype))
    for got, expected in zip(fast, plain, strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(("rows", "size"), SIZES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_floats(dtype: str, rows: int, size: int) -> None:
    """Ties, both zeros, infinities and NaNs, in every mixture."""
    rng = np.random.default_rng(size)
    hard = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 2.0**-14, -(2.0**-14)]
    pools = [hard, hard[3:6], hard[4:6], hard[:1] + hard[3:4], hard[3:4], hard[:2], hard[4:]]
    for pool in pools:
        x = rng.choice(np.array(pool, np.float32), (rows, size)).astype(FLOATS[dtype])
        check(dtype, x)


@pytest.mark.parametrize("dtype", [*FLOATS, "I32"])
def test_sizes_at_run_time(dtype: str) -> None:
    """Less than the lanes take, just as much, and what is left over at the end of a row."""
    rng = np.random.default_rng(1)
    for size in (1, 2, 63, 64, 65, 127, 128, 300):
        for low in (0, 3):
            x = rng.integers(low, 4, (4, size)).astype(FLOATS.get(dtype) or INTEGERS[dtype])
            check(dtype, x, symbolic=True)
            x[:, -1] = 9
            check(dtype, x, symbolic=True)


@pytest.mark.parametrize(("rows", "size"), SIZES)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(dtype: str, rows: int, size: int) -> None:
    rng = np.random.default_rng(size)
    info = np.iinfo(INTEGERS[dtype])
    for pool in ([info.min], [info.min, info.min + 1], [info.min, -1, 0, 1, info.max], [-1, 0]):
        check(dtype, rng.choice(np.array(pool, INTEGERS[dtype]), (rows, size)))
