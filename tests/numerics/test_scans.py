"""Cumulative sums and products along an axis: their order to the bit, and their gradients."""

from __future__ import annotations

import numpy as np
import pytest

import kina
from helpers.expect import same_bits
from helpers.inputs import PROFILES, random_array
from kina.dtypes import F32
from kina.order import cumulative_sum, ordered_prod

SHAPES = {"rows": ("[B, N]", 1), "columns": ("[N, B]", 0), "inner": ("[A, N, B]", 1)}
SIZES = (1, 2, 63, 64, 65, 130, 16385)


def function(name: str, dims: str, axis: int) -> str:
    rest = ", ".join(dim for dim in dims[1:-1].split(", ") if dim != "N")
    kind = f"tensor<F32, {dims}>"
    return f"""
let sums_{name} = fn(x: {kind}) -> {kind} {{ x.cumsum(axis={axis}) }}
let prod_{name} = fn(x: {kind}) -> tensor<F32, [{rest}]> {{ x.reduce(op=prod, axis={axis}) }}
let dsums_{name} = reverseMode(sums_{name})
let dprod_{name} = reverseMode(prod_{name})
let of_computed_{name} = fn(x: {kind}) -> {kind} {{ (x * 2.0 - 1.0).cumsum(axis={axis}) * 0.5 }}
"""


SOURCE = "".join(function(name, *shape) for name, shape in SHAPES.items())
SOURCE += """
let static_sums = fn(x: tensor<F32, [5, 70]>) -> tensor<F32, [5, 70]> { x.cumsum(axis=1) }
let of_I8 = fn(x: tensor<I8, [B, N]>) -> (tensor<I8, [B, N]>, tensor<I8, [B, N]>, tensor<I8, [B]>) {
  (x.cumsum(axis=0), x.cumsum(axis=1), x.reduce(op=prod, axis=1))
}
let of_F16 = fn(x: tensor<F16, [B, N]>) -> (tensor<F16, [B, N]>, tensor<F16, [B]>) {
  (x.cumsum(axis=1), x.reduce(op=prod, axis=1))
}
let one = fn(x: tensor<F32, [1, 1]>) -> (tensor<F32, [1, 1]>, tensor<F32, [1]>) {
  (x.cumsum(axis=0), x.reduce(op=prod, axis=1))
}
let cube = fn(x: tensor<F32, [N]>) -> tensor<F32, []> { x.reduce(op=prod, axis=0) }
let dcube = reverseMode(cube)
let ddcube = reverseMode(dcube)
"""


@pytest.fixture(scope="module")
def module() -> kina.Module:
    return kina.compile(SOURCE, threads=False)


def array(name: str, size: int, profile: str = "plain") -> np.ndarray:
    letters = {"A": 2, "N": size, "B": 75 if size < 1000 else 3}
    shape = tuple(letters[d] for d in SHAPES[name][0][1:-1].split(", "))
    rng = np.random.default_rng([size, PROFILES.index(profile)])
    return random_array(rng, F32, shape, profile)


def assert_same(got: np.ndarray, wanted: np.ndarray) -> None:
    assert got.shape == wanted.shape
    assert same_bits(np.ascontiguousarray(got), np.ascontiguousarray(wanted), F32).all()


@pytest.mark.parametrize("name", SHAPES)
def test_cumulative_sums_are_one_chain(module: kina.Module, name: str) -> None:
    axis = SHAPES[name][1]
    for size in SIZES:
        for profile in PROFILES:
            x = array(name, size, profile)
            with np.errstate(all="ignore"):
                assert_same(module[f"sums_{name}"](x), cumulative_sum(x, axis))
                twice = cumulative_sum(x * np.float32(2) - np.float32(1), axis)
                assert_same(module[f"of_computed_{name}"](x), twice * np.float32(0.5))


def test_a_cumulative_sum_by_hand(module: kina.Module) -> None:
    x = array("rows", 70)[:5]
    total, wanted = np.zeros(5, np.float32), []
    for column in x.T:
        total = total + column
        wanted.append(total)
    assert_same(module.static_sums(x), np.stack(wanted, 1))
    assert_same(module.sums_rows(x), np.stack(wanted, 1))
    assert not np.signbit(module.sums_rows(np.full((2, 3), -0.0, np.float32))).any()


@pytest.mark.ordered
@pytest.mark.parametrize("name", SHAPES)
def test_products_join_in_the_order_of_sums(module: kina.Module, name: str) -> None:
    for size in SIZES:
        x = 1 + array(name, size) * np.float32(0.01)
        assert_same(module[f"prod_{name}"](x), ordered_prod(x, SHAPES[name][1]))


@pytest.mark.parametrize("name", SHAPES)
def test_gradients(module: kina.Module, name: str) -> None:
    """A sum from the end; the product of the others, zeros among them."""
    axis = SHAPES[name][1]
    for size in (1, 2, 65, 130):
        x = array(name, size)
        ct = array(name, size, "ties")
        _, slope = module[f"dsums_{name}"](x, ct)
        assert_same(slope, np.flip(cumulative_sum(np.flip(ct, axis), axis), axis))
        moved = np.moveaxis(np.array(np.sign(x) * (0.9 + 0.2 * np.abs(np.sin(x)))), axis, 0)
        moved = moved.astype(np.float32)
        moved[0, ..., 0] = 0
        moved[size // 2, ..., 1] = 0
        moved[[0, -1], ..., 2] = 0
        others = np.stack([np.delete(moved, i, 0).astype(float).prod(0) for i in range(size)])
        weights = array(name, size, "ties").take(0, axis)
        _, slope = module[f"dprod_{name}"](
            np.ascontiguousarray(np.moveaxis(moved, 0, axis)), weights
        )
        wanted = np.moveaxis(others * weights, 0, axis)
        np.testing.assert_allclose(slope, wanted, rtol=2e-5)
        assert ((slope == 0) == (wanted == 0)).all()


def test_the_second_order_of_a_product(module: kina.Module) -> None:
    for values in ([2.0, 3.0, 5.0], [0.0, 3.0, 5.0], [0.0, 0.0, 5.0]):
        x = np.array(values, np.float32)
        weights = np.array([1, 10, 100], np.float32)
        slope = module.ddcube(x, weights)[-1]
        others = [np.delete(x, i).prod() for i in range(3)]
        # The gradient of the product itself, and of its gradient times the weights.
        wanted = [
            others[i] + sum(weights[j] * np.delete(x, [i, j]).prod() for j in range(3) if j != i)
            for i in range(3)
        ]
        np.testing.assert_allclose(slope, wanted)


def test_integers_wrap_and_small_floats_round_each_element(module: kina.Module) -> None:
    x = np.random.default_rng(0).integers(-128, 128, (7, 130)).astype(np.int8)
    down, along, product = module.of_I8(x)
    wide = x.astype(np.int64)
    np.testing.assert_array_equal(down, wide.cumsum(0).astype(np.int8))
    np.testing.assert_array_equal(along, wide.cumsum(1).astype(np.int8))
    np.testing.assert_array_equal(product, wide.prod(1).astype(np.int8))
    half = np.full((1, 3000), 1, np.float16)
    sums, _ = module.of_F16(half)
    wanted = np.arange(1, 3001, dtype=np.float32).astype(np.float16)
    np.testing.assert_array_equal(sums[0], wanted)
    assert [float(result[0]) for result in module.of_F16(np.full((1, 4), 300, np.float16))[1:]] == [
        np.inf
    ]


def test_one_element(module: kina.Module) -> None:
    sums, product = module.one(np.float32([[-3]]))
    assert (sums.tolist(), product.tolist()) == ([[-3]], [-3])


def test_threads_share_rows_and_fibers() -> None:
    module = kina.compile("".join(function(name, *SHAPES[name]) for name in ("rows", "columns")))
    x = np.random.default_rng(1).standard_normal((300, 9000)).astype(np.float32)
    try:
        for threads in (1, 2, 3):
            kina.set_num_threads(threads)
            assert_same(module.sums_rows(x), cumulative_sum(x, 1))
            assert_same(module.sums_columns(x), cumulative_sum(x, 0))
    finally:
        kina.set_num_threads(None)


def test_nan_and_infinity_stay_from_where_they_are(module: kina.Module) -> None:
    x = np.float32([[1, np.inf, 2, -np.inf, 3], [np.nan, 1, 2, 3, 4]])
    sums = module.sums_rows(x)
    np.testing.assert_array_equal(sums[0], [1, np.inf, np.inf, np.nan, np.nan])
    assert np.isnan(sums[1]).all()
