"""Matrix products: one chain of fused multiply-adds per element, to the bit, and their gradients.

One module holds the programs: a library costs more to build than a function in it.
"""

from __future__ import annotations

import math
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

import kina
from helpers.expect import same_bits
from helpers.inputs import PROFILES, random_array
from helpers.rounding import round_f32
from kina.dtypes import BF16, F32
from kina.order import fused, ordered_product

SHAPES: dict[str, tuple[str, str, str]] = {
    "matrix": ("[M, K]", "[K, N]", "[M, N]"),
    "stack": ("[B, M, K]", "[B, K, N]", "[B, M, N]"),
    "shared": ("[B, M, K]", "[K, N]", "[B, M, N]"),
    "rows": ("[B, 2, M, K]", "[K, N]", "[B, 2, M, N]"),
    "deep": ("[B, 2, M, K]", "[B, 2, K, N]", "[B, 2, M, N]"),
}
STATIC = {"M": 9, "K": 33, "N": 70, "B": 3}
SIZES = (
    {"M": 1, "K": 1, "N": 1, "B": 1},
    {"M": 1, "K": 130, "N": 65, "B": 2},
    {"M": 5, "K": 7, "N": 64, "B": 1},
    {"M": 70, "K": 3, "N": 9, "B": 2},
    {"M": 15, "K": 300, "N": 1, "B": 1},
    {"M": 29, "K": 20, "N": 133, "B": 1},
    STATIC,
)


def function(name: str, shapes: tuple[str, str, str], dtype: str = "F32") -> str:
    left, right, result = (f"tensor<{dtype}, {shape}>" for shape in shapes)
    return f"let {name} = fn(x: {left}, y: {right}) -> {result} {{ x.matmul(y) }}\n"


def static(shape: str) -> str:
    return "".join(str(STATIC.get(letter, letter)) for letter in shape)


SOURCE = "".join(
    function(name, shapes)
    + function(f"static_{name}", tuple(map(static, shapes)))
    + f"let d{name} = reverseMode({name})\nlet dstatic_{name} = reverseMode(static_{name})\n"
    for name, shapes in SHAPES.items()
) + "".join(function(f"of_{d}", SHAPES["matrix"], d) for d in ("BF16", "I64", "I32", "I8", "I4"))
SOURCE += """
let of_weights = fn(x: tensor<F32, [M, K]>, y: tensor<BF16, [K, N]>) -> tensor<F32, [M, N]> {
  x.matmul(y.cast(F32))
}
let layer = fn(x: tensor<F32, [M, K]>, w: tensor<F32, [K, N]>, b: tensor<F32, [N]>)
    -> tensor<F32, [M, N]> {
  let y = x.matmul(w) + b.broadcast([M, N]) in
  y / ((-y).exp() + 1.0)
}
let of_computed = fn(x: tensor<F32, [M, K]>, y: tensor<F32, [K, N]>) -> tensor<F32, [M, N]> {
  x.softmax(axis=1).matmul(y * 2.0 - 1.0)
}
let squares = fn(x: tensor<F32, [N, N]>) -> tensor<F32, [N, N]> { x.matmul(x).matmul(x) + x }
let most_likely = fn(x: tensor<F32, [M, K]>, y: tensor<F32, [K, N]>) -> tensor<I64, [M]> {
  x.matmul(y).reduce(op=argmax, axis=1)
}
let energy = fn(x: tensor<F32, [M, K]>, y: tensor<F32, [K, N]>) -> tensor<F32, []> {
  let z = x.matmul(y) in
  (z * z).reduce(op=sum, axis=1).reduce(op=sum, axis=0)
}
let denergy = reverseMode(energy)
let ddenergy = reverseMode(denergy)
"""


@pytest.fixture(scope="module", params=[True, False], ids=["fast", "plain"])
def module(request: pytest.FixtureRequest) -> kina.Module:
    return kina.compile(SOURCE, fast=request.param, threads=False)


def operands(
    name: str, sizes: dict[str, int], profile: str = "plain"
) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([PROFILES.index(profile), *sizes.values()])
    letters = {**sizes, "2": 2}
    shapes = [tuple(letters[d] for d in s[1:-1].split(", ")) for s in SHAPES[name][:2]]
    left, right = (random_array(rng, F32, shape, profile) for shape in shapes)
    return left, right


def assert_same(got: np.ndarray, wanted: np.ndarray) -> None:
    assert got.shape == wanted.shape
    assert same_bits(np.ascontiguousarray(got), np.ascontiguousarray(wanted), F32).all()


def test_the_model_is_exact() -> None:
    """Against fractions: cancellation, subnormals, ties and overflow in one product."""
    rng = np.random.default_rng(0)
    a, b, c = (random_array(rng, F32, (3000,), "special") for _ in range(3))
    with np.errstate(all="ignore"):
        c[::3] = -(a * b)[::3]
    a[1::5] *= np.float32(2.0**-70)
    b[1::5] *= np.float32(2.0**-70)
    found = fused(a, b, c)
    for x, y, z, got in zip(a, b, c, found, strict=True):
        if math.isfinite(x) and math.isfinite(y) and math.isfinite(z):
            total = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
            assert float(got) == round_f32(total)


def test_every_element_is_one_chain_by_fractions(module: kina.Module) -> None:
    """Fractions and integers alone: neither NumPy's arithmetic nor the model of the language."""
    left, right = operands("matrix", {"M": 3, "K": 40, "N": 5, "B": 1})
    left[1, ::4] *= np.float32(2.0**-60)
    got = module.matrix(left, right)
    for row, column in np.ndindex(3, 5):
        total = 0.0
        for a, b in zip(left[row].tolist(), right[:, column].tolist(), strict=True):
            total = round_f32(Fraction(a) * Fraction(b) + Fraction(total))
        assert float(got[row, column]) == total


@pytest.mark.parametrize("name", SHAPES)
def test_products_have_the_bits_of_the_model(module: kina.Module, name: str) -> None:
    for sizes in SIZES:
        for profile in PROFILES:
            arrays = operands(name, sizes, profile)
            wanted = ordered_product(*arrays)
            assert_same(module[name](*arrays), wanted)
            if sizes is STATIC:
                assert_same(module[f"static_{name}"](*arrays), wanted)


@pytest.mark.parametrize("name", SHAPES)
def test_gradients_are_chains_too(module: kina.Module, name: str) -> None:
    """Summed over columns, or over rows in row-major order with what `right` is shared by."""
    for sizes in (SIZES[0], SIZES[3], STATIC):
        left, right = operands(name, sizes)
        cotangent = np.random.default_rng(1).standard_normal((*left.shape[:-1], right.shape[-1]))
        cotangent = cotangent.astype(np.float32)
        names = [f"d{name}", f"dstatic_{name}"] if sizes is STATIC else [f"d{name}"]
        for function_name in names:
            _, dleft, dright = module[function_name](left, right, cotangent)
            assert_same(dleft, ordered_product(cotangent, np.swapaxes(right, -1, -2)))
            rows, columns = left, cotangent
            if right.ndim == 2:
                rows, columns = (a.reshape(-1, a.shape[-1]) for a in (rows, columns))
            assert_same(dright, ordered_product(np.swapaxes(rows, -1, -2), columns))


def test_small_floats_round_once(module: kina.Module) -> None:
    left, right = (array.astype(ml_dtypes.bfloat16) for array in operands("matrix", STATIC))
    wanted = ordered_product(left.astype(np.float32), right.astype(np.float32))
    got = module.of_BF16(left, right)
    assert same_bits(got, wanted.astype(ml_dtypes.bfloat16), BF16).all()
    assert_same(module.of_weights(left.astype(np.float32), right), wanted)


@pytest.mark.parametrize(("name", "dtype"), [("I64", np.int64), ("I32", np.int32), ("I8", np.int8)])
def test_integers_wrap(module: kina.Module, name: str, dtype: type) -> None:
    rng = np.random.default_rng(3)
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    left, right = (
        rng.integers(low, high, shape, dtype, endpoint=True) for shape in ((5, 70), (70, 66))
    )
    got = module[f"of_{name}"](left, right)
    exact = left.astype(object) @ right.astype(object)
    span = 1 << (8 * np.dtype(dtype).itemsize)
    assert (got.astype(object) == (exact - low) % span + low).all()


def test_nibbles_wrap(module: kina.Module) -> None:
    rng = np.random.default_rng(4)
    left, right = (rng.integers(-8, 8, shape) for shape in ((5, 70), (70, 66)))
    got = module.of_I4(left.astype(ml_dtypes.int4), right.astype(ml_dtypes.int4))
    assert (got.astype(np.int64) == (left @ right + 8) % 16 - 8).all()


def test_what_stands_around_a_product(module: kina.Module) -> None:
    """A bias and an activation behind it, a softmax before it, itself twice: the same chains."""
    left, right = operands("matrix", STATIC)
    bias = np.linspace(-1, 1, STATIC["N"], dtype=np.float32)
    y = ordered_product(left, right) + bias
    wanted = y / (np.exp(-y.astype(np.float64)) + 1)
    np.testing.assert_allclose(module.layer(left, right, bias), wanted, 1e-6, 1e-30)
    square = left[:, :9]
    twice = ordered_product(ordered_product(square, square), square)
    assert_same(module.squares(square), twice + square)
    best = ordered_product(left, right).argmax(1)
    assert (module.most_likely(left, right) == best).all()
    got, wanted = module.of_computed(left, right), module.of_computed.reference(left, right)
    np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=1e-5)


def test_the_second_order(module: kina.Module) -> None:
    left, right = operands("matrix", {"M": 4, "K": 5, "N": 6, "B": 1})
    arguments = [left, right, np.ones_like(left), np.ones_like(right)]
    for got, wanted in zip(
        module.ddenergy(*arguments), module.ddenergy.reference(*arguments), strict=True
    ):
        np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=1e-3)


def test_nan_and_infinity_stay_in_their_rows_and_columns(module: kina.Module) -> None:
    left, right = np.ones((70, 40), np.float32), np.ones((40, 70), np.float32)
    left[3, 5], right[7, 9] = np.nan, np.inf
    got = module.matrix(left, right)
    assert np.isnan(got[3]).all()
    assert np.isinf(np.delete(got[:, 9], 3)).all()
    assert (np.delete(np.delete(got, 3, 0), 9, 1) == 40).all()


def test_a_chain_starts_from_plus_zero(module: kina.Module) -> None:
    minus = np.full((2, 3), -0.0, np.float32)
    got = module.matrix(minus, np.ones((3, 70), np.float32))
    assert not np.signbit(got).any()


def test_threads_do_rows_or_columns_and_never_a_part_of_a_chain() -> None:
    program = kina.compile(function("matrix", SHAPES["matrix"]))
    rng = np.random.default_rng(5)
    try:
        for rows, depth, columns in ((300, 200, 300), (1, 1000, 3000), (2000, 600, 3)):
            left = rng.standard_normal((rows, depth), np.float32)
            right = rng.standard_normal((depth, columns), np.float32)
            wanted = ordered_product(left, right)
            for threads in (1, 2, 3):
                kina.set_num_threads(threads)
                assert_same(program.matrix(left, right), wanted)
    finally:
        kina.set_num_threads(None)
