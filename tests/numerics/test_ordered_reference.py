"""`reference(…, ordered=True)`: the bits of compiled code from NumPy alone, wherever sums are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kina
from kina import KinaTypeError
from kina.arrays import numpy_dtype
from kina.dtypes import DTYPES

pytestmark = pytest.mark.ordered

FLOATS = ("F32", "F16", "BF16", "F8E4M3", "F8E5M2")

REDUCTIONS = "\n".join(
    f"let {op}{axis}_{dtype} = fn(x: tensor<{dtype}, [A, B, C]>) -> tensor<{dtype}, {result}> "
    f"{{ x.reduce(op={op}, axis={axis}) }}"
    for dtype in FLOATS
    for op in ("sum", "mean")
    for axis, result in enumerate(("[B, C]", "[A, C]", "[A, B]"))
)

OTHERS = """
let moments = fn(x: tensor<F32, [N, V]>) -> tensor<F32, [N, V]> {
  let centre = x - x.reduce_keep(op=mean, axis=1).broadcast([N, V]) in
  let square = (centre * centre).reduce_keep(op=mean, axis=1) in
  centre / (square + 1e-5).sqrt().broadcast([N, V])
}
let static = fn(x: tensor<F32, [3, 16500]>) -> tensor<F32, [3]> { x.reduce(op=sum, axis=1) }
let columns = fn(x: tensor<F32, [130, 1]>) -> tensor<F32, [1]> { x.reduce(op=sum, axis=0) }
let squares = fn(x: tensor<F32, [N, V]>) -> tensor<F32, []> {
  (x * x).reduce(op=mean, axis=1).reduce(op=sum, axis=0)
}
let squares_slope = reverseMode(squares)
let table = fn(rows: tensor<F32, [R, V]>, ids: tensor<I64, [N]>) -> tensor<F32, []> {
  let found = rows.gather(ids) in
  (found * found).reduce(op=sum, axis=1).reduce(op=sum, axis=0)
}
let table_slope = reverseMode(table, wrt=[rows])
let layer = fn(x: tensor<F32, [N, V]>, w: tensor<F32, [V, M]>) -> tensor<F32, [N, M]> {
  x.matmul(w)
}
let layer_loss = fn(x: tensor<F32, [N, V]>, w: tensor<F32, [V, M]>) -> tensor<F32, []> {
  layer(x, w).reduce(op=sum, axis=1).reduce(op=mean, axis=0)
}
let layer_slope = reverseMode(layer_loss)
let whole = fn(x: tensor<I16, [N, V]>) -> tensor<I16, [N]> { x.reduce(op=sum, axis=1) }
let odds = fn(x: tensor<F32, [N, V]>) -> tensor<F32, [N, V]> { x.log_softmax(axis=1) }
let chances = fn(x: tensor<F32, [N, V]>) -> tensor<F32, [N, V]> { x.softmax(axis=0) }
let named = fn(ordered: tensor<F32, [2]>) -> tensor<F32, []> { ordered.reduce(op=sum, axis=0) }
"""

SIZES = ((1, 1, 1), (3, 5, 70), (2, 65, 3), (130, 2, 2), (1, 2, 16449))


@pytest.fixture(scope="module")
def module() -> kina.Module:
    return kina.compile(REDUCTIONS + OTHERS, threads=False)


def drawn(shape: tuple[int, ...], seed: int, dtype: str = "F32") -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal(shape, np.float32) * np.float32(3)
    return values.astype(numpy_dtype(DTYPES[dtype]))


def equal(function: Any, *arguments: np.ndarray) -> None:
    got, wanted = function(*arguments), function.reference(*arguments, ordered=True)
    pairs = zip(got, wanted, strict=True) if isinstance(got, tuple) else [(got, wanted)]
    for mine, other in pairs:
        assert (mine.dtype, mine.shape) == (other.dtype, other.shape)
        assert mine.tobytes() == other.tobytes(), function.type


@pytest.mark.parametrize("dtype", FLOATS)
def test_sums_and_means(module: kina.Module, dtype: str) -> None:
    for seed, shape in enumerate(SIZES):
        x = drawn(shape, seed, dtype)
        for axis in range(3):
            equal(module[f"sum{axis}_{dtype}"], x)
            equal(module[f"mean{axis}_{dtype}"], x)


@pytest.mark.parametrize("shape", [(1, 1), (3, 100), (70, 33), (2, 16449)])
def test_programs_of_sums(module: kina.Module, shape: tuple[int, int]) -> None:
    x = drawn(shape, 1)
    for name in ("moments", "squares", "squares_slope"):
        equal(module[name], x)
    equal(module["whole"], (x * 9999).astype(np.int16))


def test_static_shapes(module: kina.Module) -> None:
    equal(module["static"], drawn((3, 16500), 2))
    equal(module["columns"], drawn((130, 1), 3))


def test_matrix_products_and_their_gradients(module: kina.Module) -> None:
    x, w = drawn((5, 77), 4), drawn((77, 9), 5)
    for name in ("layer", "layer_slope"):
        equal(module[name], x, w)


def test_scattered_sums(module: kina.Module) -> None:
    ids = np.random.default_rng(6).integers(0, 4, 300)
    equal(module["table_slope"], drawn((4, 7), 7), ids)


def test_infinities_and_zeros(module: kina.Module) -> None:
    x = np.zeros((1, 3, 70), np.float32)
    x[0, 0], x[0, 1, 5], x[0, 2, 69] = -0.0, np.inf, -np.inf
    for axis in range(3):
        equal(module[f"sum{axis}_F32"], x)


def test_without_the_order_other_bits_come_out(module: kina.Module) -> None:
    x, f = drawn((3, 16500), 8), module["static"]
    assert f.reference(x).tolist() != f.reference(x, ordered=True).tolist() == f(x).tolist()


@pytest.mark.parametrize("name", ["odds", "chances"])
def test_what_follows_from_exp_and_log_is_close(module: kina.Module, name: str) -> None:
    x = drawn((6, 300), 9)
    got, wanted = module[name](x), module[name].reference(x, ordered=True)
    np.testing.assert_array_max_ulp(got, wanted, 4)


def test_a_parameter_called_ordered(module: kina.Module) -> None:
    x = np.float32([1, 2])
    assert module["named"].reference(x, ordered=True) == 3
    with pytest.raises(KinaTypeError, match="ordered is True or False, got ndarray: a parameter"):
        module["named"].reference(ordered=x)
