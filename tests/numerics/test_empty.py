"""Symbolic sizes that are 0: every result that has a meaning, and a refusal of every other."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

import kina
from kina.arrays import Array

PROGRAM = """
let nll = fn(x: tensor<F32, [B, V]>, t: tensor<I64, [B]>) -> (
  tensor<F32, [B]>, tensor<F32, []>
) {
  let logp = x.log_softmax(axis=1) in
  let picked = logp.take_along_axis(t, axis=1) in
  (picked, (-picked).reduce(op=sum, axis=0))
}
let dnll = reverseMode(nll, wrt=[x])
let sums = fn(x: tensor<F32, [B, V]>) -> (
  tensor<F32, [B]>, tensor<F32, [V]>, tensor<F32, [B, 1]>, tensor<F32, [B * V]>
) {
  (x.reduce(op=sum, axis=1), x.reduce(op=sum, axis=0), x.reduce_keep(op=sum, axis=1),
   (x * x).exp().reshape([B * V]))
}
let dsums = reverseMode(sums)
let rows = fn(x: tensor<F16, [B, V]>) -> (
  tensor<I64, [B]>, tensor<F16, [B]>, tensor<F16, [B, V]>
) {
  (x.reduce(op=argmax, axis=1), x.reduce(op=max, axis=1), x.softmax(axis=1))
}
let columns = fn(x: tensor<F32, [B, V]>) -> (tensor<I64, [V]>, tensor<F32, [V]>) {
  (x.reduce(op=argmax, axis=0), x.reduce(op=mean, axis=0))
}
let look = fn(w: tensor<F32, [V, D]>, i: tensor<I64, [B]>) -> tensor<F32, [B, D]> { w.gather(i) }
let dlook = reverseMode(look)
let less = fn(t: tensor<F32, [T]>) -> tensor<F32, [T - 2]> { tensor<F32, [T - 2]>(1) }
let calls = fn(t: tensor<F32, [N]>) -> tensor<F32, [2 * N - 2]> {
  less(t.reshape([N, 1]).broadcast([N, 2]).reshape([2 * N]))
}
let lse = fn(x: tensor<F32, [B, V]>) -> tensor<F32, [B]> { x.logsumexp(axis=1) }
let rms = fn(x: tensor<F32, [B, V]>, w: tensor<F32, [V]>) -> tensor<F32, [B, V]> {
  x.rms_norm(w, axis=1, eps=1e-5)
}
let layer = fn(x: tensor<F32, [B, V]>, w: tensor<F32, [V]>) -> tensor<F32, [B, V]> {
  x.layer_norm(w, w, axis=1, eps=1e-5)
}
let bytes = fn(x: tensor<Bool, [B]>, y: tensor<I8, [B, V]>) -> (
  tensor<I8, [V, B]>, tensor<Bool, [B]>, tensor<F32, [B]>
) { (y.reshape([V, B]), x, x.cast(F32)) }
"""

SHAPES = [(0, 3), (0, 5000), (0, 0), (3, 0), (4, 7), (5000, 0), (0, 1)]


@pytest.fixture(scope="module")
def module() -> Any:
    return kina.compile(PROGRAM, threads=False)


def result_of(function: Any, arguments: list[Array]) -> Any:
    """The results, or what the refusal says."""
    try:
        result = function(*arguments)
    except (kina.KinaValueError, kina.KinaIndexError) as error:
        return str(error)
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize(("b", "v"), SHAPES)
def test_as_the_reference(module: Any, b: int, v: int) -> None:
    x, ids = np.ones((b, v), np.float32), np.zeros(b, np.int64)
    one, table = np.ones(b, np.float32), np.ones((v, 3), np.float32)
    calls: dict[str, list[Array]] = {
        "nll": [x, ids],
        "dnll": [x, ids, one],
        "sums": [x],
        "dsums": [x, one, np.ones(v, np.float32), one.reshape(b, 1), x.reshape(b * v)],
        "rows": [x.astype(np.float16)],
        "columns": [x],
        "look": [table, ids],
        "dlook": [table, ids, np.ones((b, 3), np.float32)],
        "lse": [x],
        "rms": [x, np.ones(v, np.float32)],
        "layer": [x, np.ones(v, np.float32)],
        "bytes": [np.ones(b, np.bool_), np.ones((b, v), np.int8)],
    }
    for name, arguments in calls.items():
        got = result_of(module[name], arguments)
        expected = result_of(module[name].reference, arguments)
        assert isinstance(got, str) == isinstance(expected, str), name
        if isinstance(got, str):
            assert got == expected
            continue
        for left, right in zip(got, expected, strict=True):
            assert left.shape == right.shape
            assert left.dtype == right.dtype
            np.testing.assert_allclose(left.astype(np.float64), right.astype(np.float64), rtol=1e-3)


@pytest.mark.parametrize(
    ("name", "shape", "message"),
    [
        ("rows", (3, 0), r"rows: reduce argmax: axis 1 of \[B, V\] is empty \(V = 0\)"),
        ("columns", (0, 3), r"columns: reduce argmax: axis 0 of \[B, V\] is empty \(B = 0\)"),
        ("lse", (3, 0), r"lse: logsumexp: axis 1 of \[B, V\] is empty \(V = 0\)"),
        ("rms", (3, 0), r"rms: rms_norm: axis 1 of \[B, V\] is empty \(V = 0\)"),
        ("layer", (3, 0), r"layer: layer_norm: axis 1 of \[B, V\] is empty \(V = 0\)"),
        ("less", (1,), r"less: the size T - 2 is below 0 \(T = 1\)"),
        ("calls", (0,), r"calls: the size 2 \* N - 2 is below 0 \(N = 0\)"),
    ],
)
def test_what_has_no_meaning(module: Any, name: str, shape: tuple[int, ...], message: str) -> None:
    x = np.ones(shape, np.float16 if name == "rows" else np.float32)
    arguments = [x, x[0]] if name in ("rms", "layer") else [x]
    for function in (module[name], module[name].reference):
        with pytest.raises(kina.KinaValueError, match=message):
            function(*arguments)


def test_an_index_into_nothing(module: Any) -> None:
    message = r"gather: index 0 at \[0\] of indices is outside an empty axis"
    with pytest.raises(kina.KinaIndexError, match=message):
        module.look(np.ones((0, 2), np.float32), np.zeros(1, np.int64))


def test_sums_of_nothing_are_zero(module: Any) -> None:
    rows, columns, kept, flat = module.sums(np.ones((0, 4), np.float32))
    assert rows.shape == (0,)
    assert columns.tolist() == [0, 0, 0, 0]
    assert kept.shape == (0, 1)
    assert flat.shape == (0,)
    assert module.nll(np.ones((0, 4), np.float32), np.zeros(0, np.int64))[1] == 0


def test_in_c_it_is_a_status(module: Any) -> None:
    library, size = ctypes.CDLL(str(module.library_path)), ctypes.c_int64
    array = np.full(4, 7, np.float32)
    at = array.ctypes.data_as(ctypes.c_void_p)
    assert library.kina_columns(size(0), size(4), at, at, at) == -2
    assert library.kina_less(size(1), at, at) == -2
    assert library.kina_sums(size(0), size(0), None, None, None, None, None) == 0
    assert array.tolist() == [7, 7, 7, 7]
