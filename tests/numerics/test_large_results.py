"""Results written past the caches: the same bits wherever they lie, nothing beside them."""

from __future__ import annotations

from functools import cache

import ml_dtypes
import numpy as np
import pytest

import kina

SOURCE = """let f = fn(x: tensor<{dtype}, [{rows}, {size}]>) -> tensor<{dtype}, [{rows}, {size}]> {{
  {value}
}}"""
LSM, ELEMENTWISE = "x.log_softmax(axis=1)", "x * x + x"
DTYPES = {"F32": np.dtype(np.float32), "BF16": np.dtype(ml_dtypes.bfloat16)}
GUARD = 7.0


@cache
def function(dtype: str, rows: int | str, size: int | str, value: str) -> kina.Module:
    """The compiled program."""
    return kina.compile(SOURCE.format(dtype=dtype, rows=rows, size=size, value=value))


def result_at(module: kina.Module, x: np.ndarray, offset: int) -> np.ndarray:
    """The result, computed `offset` elements into a buffer; what lies beside it must stay."""
    buffer = np.full(x.size + 64, GUARD, x.dtype)
    out = buffer[offset : offset + x.size].reshape(x.shape)
    module.f(x, out=out)
    assert np.all(buffer[:offset] == GUARD)
    assert np.all(buffer[offset + x.size :] == GUARD)
    return out


@pytest.mark.parametrize("value", [LSM, ELEMENTWISE])
@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize(
    ("dtype", "rows", "size"),
    [("F32", 2050, 1024), ("F32", 1400, 1537), ("F32", 64, 33001), ("BF16", 64, 65599)],
)
def test_same_bits_at_any_place(
    dtype: str, rows: int, size: int, symbolic: bool, value: str
) -> None:
    x = (4 * np.random.default_rng(size).standard_normal((rows, size))).astype(DTYPES[dtype])
    assert x.nbytes >= 8 << 20
    dims: tuple[int | str, int | str] = ("R", "V") if symbolic else (rows, size)
    module = function(dtype, *dims, value)
    results = [result_at(module, x, offset) for offset in (0, 1, 4, 15, 16)]
    first = results[0].view(np.uint8)
    assert all(np.array_equal(first, other.view(np.uint8)) for other in results[1:])
    # A few rows by themselves are too small to stream.
    few = function(dtype, 3, size, value).f(np.ascontiguousarray(x[-3:]))
    assert np.array_equal(few.view(np.uint8), results[0][-3:].view(np.uint8))
