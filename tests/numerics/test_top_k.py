"""The best elements of each fiber: which ones, in which order, and their gradient."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import kina
from helpers.expect import same_bits
from helpers.inputs import PROFILES, random_array
from kina.dtypes import DTYPES, F32, NUMERIC, DType

KS = (1, 5, 64, 65, 130)
SIZES = (130, 131, 192, 1000, 16385)
SMALL = sorted(NUMERIC)
LARGEST = "x.reduce_keep(op=max, axis=1).broadcast([B, N])"


def best(x: str, dims: str, k: int, axis: int, dtype: str = "F32", body: str = "x") -> str:
    """A function of x that gives the k best values along an axis, and their places."""
    found = [str(k) if at == axis else dim for at, dim in enumerate(dims.split(", "))]
    shape = ", ".join(found)
    kind = f"(tensor<{dtype}, [{shape}]>, tensor<I64, [{shape}]>)"
    call = f"({body}).top_k(k={k}, axis={axis})"
    return f"let {x} = fn(x: tensor<{dtype}, [{dims}]>) -> {kind} {{ {call} }}\n"


SOURCE = "".join(
    [
        *(best(f"rows_{k}", "B, N", k, 1) for k in KS),
        *(best(f"of_{dtype}", "B, N", 9, 1, dtype) for dtype in SMALL),
        best("columns", "N, B", 7, 0),
        best("inner", "2, N, B", 7, 1),
        best("vector", "N", 130, 0),
        best("many", "B, N", 1000, 1),
        best("whole", "3, 300", 300, 1),
        best("one", "B, 1", 1, 1),
        best("computed", "B, N", 9, 1, body=f"x * 2.0 + {LARGEST}"),
        best("logs", "B, N", 9, 1, body="x.log()"),
        """
let moved = fn(x: tensor<F32, [B, N]>, row: tensor<F32, [N]>, i: tensor<I64, []>) -> (
  tensor<F32, [5, B]>,
  tensor<I64, [5, B]>
) {
  let sums = x + row.broadcast([B, N]) in
  sums.transpose([1, 0]).slice(axis=0, start=i, size=100).top_k(k=5, axis=0)
}
let alike = fn(row: tensor<F32, [N]>, x: tensor<F32, [A, N, B]>) -> (
  tensor<F32, [A, 3, B]>,
  tensor<I64, [A, 3, B]>
) {
  row.reshape([N, 1]).broadcast([A, N, B]).top_k(k=3, axis=1)
}
let drows = reverseMode(rows_5)
let dinner = reverseMode(inner)
let dlogs = reverseMode(logs)
let ddrows = reverseMode(drows)
let dhalf = reverseMode(of_F16)
""",
    ]
)


@pytest.fixture(scope="module")
def module() -> kina.Module:
    return kina.compile(SOURCE)


def wanted(x: np.ndarray, k: int, axis: int) -> np.ndarray:
    """Where the k best are: numbers before NaNs, the larger first, of equal ones the first."""
    wide = x.astype(np.float64) if x.dtype.itemsize < 8 else x
    if wide.dtype.kind == "f":
        keys = np.where(np.isnan(wide), np.inf, -wide + 0.0)
        order = np.lexsort((keys, np.isnan(wide)), axis)
    else:
        order = np.argsort(~wide, axis=axis, kind="stable")
    return order.take(range(k), axis).astype(np.int64)


def assert_best(
    got: Sequence[np.ndarray], x: np.ndarray, k: int, axis: int, dtype: DType = F32
) -> None:
    values, places = got
    np.testing.assert_array_equal(places, wanted(x, k, axis))
    taken = np.ascontiguousarray(np.take_along_axis(x, places, axis))
    assert same_bits(np.ascontiguousarray(values), taken, dtype).all()


def array(shape: tuple[int, ...], profile: str = "plain", dtype: DType = F32) -> np.ndarray:
    rng = np.random.default_rng([*shape, PROFILES.index(profile)])
    return random_array(rng, dtype, shape, profile)


@pytest.mark.parametrize("k", KS)
def test_the_best_of_rows(module: kina.Module, k: int) -> None:
    for size in SIZES:
        for profile in PROFILES:
            x = array((3, size), profile)
            assert_best(module[f"rows_{k}"](x), x, k, 1)


@pytest.mark.parametrize("dtype", SMALL)
def test_every_dtype(module: kina.Module, dtype: str) -> None:
    for size in (9, 70, 1000):
        for profile in PROFILES:
            x = array((2, size), profile, DTYPES[dtype])
            assert_best(module[f"of_{dtype}"](x), x, 9, 1, DTYPES[dtype])


def test_other_axes(module: kina.Module) -> None:
    for size in (7, 64, 65, 300):
        for profile in PROFILES:
            x = array((size, 11), profile)
            assert_best(module.columns(x), x, 7, 0)
            x = array((2, size, 11), profile)
            assert_best(module.inner(x), x, 7, 1)


def test_as_many_as_there_are_is_a_sort(module: kina.Module) -> None:
    for profile in PROFILES:
        x = array((3, 300), profile)
        assert_best(module.whole(x), x, 300, 1)
        x = array((130,), profile)
        assert_best(module.vector(x), x, 130, 0)
        x = array((4, 1), profile)
        assert_best(module.one(x), x, 1, 1)


def test_rows_in_any_order(module: kina.Module) -> None:
    """The worst for the list is a row that goes up; ties all along; and what is far apart."""
    up = np.arange(20000, dtype=np.float32)
    rows = np.stack([up, up[::-1], 0 * up, up // 7, -up // 50, np.where(up % 64 == 63, 1, 0)])
    rows[2, 5000:] = -0.0
    x = rows.astype(np.float32)
    assert_best(module.many(x), x, 1000, 1)
    assert_best(module.rows_65(x), x, 65, 1)


def test_nan_is_behind_every_number(module: kina.Module) -> None:
    x = np.full((4, 131), np.nan, np.float32)
    x[1, 100:] = -np.inf
    x[2, [3, 90]] = [np.inf, -np.inf]
    x[3, ::2] = np.float32(-0.0)
    x[3, 1::4] = 0
    for k in (1, 5, 64, 130):
        assert_best(module[f"rows_{k}"](x), x, k, 1)
    assert module.rows_1(x)[1].tolist() == [[0], [100], [3], [0]]


def test_of_computed_elements(module: kina.Module) -> None:
    """They are computed again for the values, to the same bits."""
    x = array((3, 1000))
    made = x * np.float32(2) + x.max(axis=1, keepdims=True)
    assert_best(module.computed(x), made, 9, 1)
    row = array((1000,))
    window = np.ascontiguousarray((x + row).T[850:950])
    assert_best(module.moved(x, row, np.int64(850)), window, 5, 0)
    spread = np.broadcast_to(row[:, None], (2, 1000, 4))
    assert_best(module.alike(row, np.zeros((2, 1000, 4), np.float32)), spread, 3, 1)


def test_more_than_there_are_is_refused(module: kina.Module) -> None:
    text = r"rows_130: top_k: k=130 is more than axis 1 of \[B, N\] has \(N = 129\)"
    for refused in (module.rows_130, module.rows_130.reference):
        with pytest.raises(kina.KinaValueError, match=text):
            refused(np.zeros((2, 129), np.float32))
    values, places = module.rows_130(np.zeros((0, 130), np.float32))
    assert values.shape == places.shape == (0, 130)


def test_threads_share_rows(module: kina.Module) -> None:
    x = array((37, 40000), "ties")
    try:
        for threads in (1, 2, 3, 4):
            kina.set_num_threads(threads)
            assert_best(module.rows_64(x), x, 64, 1)
    finally:
        kina.set_num_threads(None)


def test_the_gradient_goes_to_what_was_taken(module: kina.Module) -> None:
    for profile in ("plain", "ties"):
        x, ct = array((3, 200), profile), array((3, 5))
        values, places, slope = module.drows(x, ct)
        assert_best((values, places), x, 5, 1)
        put = np.zeros_like(x)
        np.put_along_axis(put, places, ct, 1)
        np.testing.assert_array_equal(slope, put)
        x, ct = array((2, 200, 11), profile), array((2, 7, 11))
        _, places, slope = module.dinner(x, ct)
        put = np.zeros_like(x)
        np.put_along_axis(put, places, ct, 1)
        np.testing.assert_array_equal(slope, put)
    half, weights = array((2, 50), dtype=DTYPES["F16"]), array((2, 9), dtype=DTYPES["F16"])
    _, places, slope = module.dhalf(half, weights)
    np.testing.assert_array_equal(np.take_along_axis(slope, places, 1), weights)
    assert np.count_nonzero(slope) == np.count_nonzero(weights)


def test_what_was_not_taken_has_no_gradient(module: kina.Module) -> None:
    """1 / 0 is nobody's slope, where 0 is not among the best."""
    x = np.abs(array((2, 200))) + np.float32(1)
    x[:, ::3] = 0
    _, places, slope = module.dlogs(x, np.ones((2, 9), np.float32))
    expected = np.zeros_like(x)
    np.put_along_axis(expected, places, 1 / np.take_along_axis(x, places, 1), 1)
    np.testing.assert_array_equal(slope, expected)


def test_the_gradient_of_the_gradient(module: kina.Module) -> None:
    """It reads the cotangent where the best are."""
    x, ct, twice = array((3, 200)), array((3, 5)), array((3, 200))
    *_, by_x, by_ct = module.ddrows(x, ct, np.zeros((3, 5), np.float32), twice)
    np.testing.assert_array_equal(by_ct, np.take_along_axis(twice, wanted(x, 5, 1), 1))
    assert not by_x.any()
