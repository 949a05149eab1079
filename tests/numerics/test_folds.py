"""Folds: the same bits as the calls written out, on both pipelines, and so are their gradients."""

from __future__ import annotations

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import kina
from kina.errors import KinaIndexError

LAYERS = 3


def _types(text: str) -> str:
    """`F32[N, D]` in full."""
    return re.sub(r"\b(F32|BF16|I64|I4|Bool)\[([^]]*)\]", r"tensor<\1, [\2]>", text)


PROGRAM = _types("""
let block = fn(x: F32[N, D], w: F32[D], b: F32[N, D], m: F32[D])
  -> F32[N, D] {
  let y = (x * w.broadcast([N, D]) + b).softmax(axis=1) in
  x + y * m.broadcast([N, D]) * x
}
let f = fn(x: F32[N, 4], w: F32[L, 4], b: F32[L, N, 4], m: F32[4])
  -> F32[N, 4] {
  fold(block, x, over=[w, b], with=[m])
}
let df = reverseMode(f)
let dm = reverseMode(f, wrt=[m])
let dw = reverseMode(f, wrt=[w])
let ddf = reverseMode(df, wrt=[x, w, m])

let three = fn(x: F32[N, 4], w0: F32[4], b0: F32[N, 4],
  w1: F32[4], b1: F32[N, 4], w2: F32[4], b2: F32[N, 4],
  m: F32[4]) -> F32[N, 4] {
  block(block(block(x, w0, b0, m), w1, b1, m), w2, b2, m)
}
let dthree = reverseMode(three)

let inner = fn(x: F32[N], w: F32[N], m: F32[N]) -> F32[N] {
  (x * w + m).exp() / (x * x + 1.5).sqrt() - m * x
}
let outer = fn(x: F32[N], w: F32[K, N], m: F32[N]) -> F32[N] {
  fold(inner, x * 0.5, over=[w], with=[m]) - m
}
let nested = fn(x: F32[N], w: F32[L, K, N], m: F32[N]) -> F32[N] {
  fold(outer, x, over=[w], with=[m]) * m
}
let loss = fn(x: F32[N], w: F32[L, K, N], m: F32[N]) -> F32[] {
  nested(nested(x, w, m), w, m).reduce(op=mean, axis=0)
}
let dloss = reverseMode(loss)
let ddloss = reverseMode(dloss, wrt=[m])

let step = fn(x: I64[N], t: I64[N]) -> I64[N] { x * 10 + t }
let digits = fn(x: I64[N], t: I64[4, N]) -> I64[N] { fold(step, x, over=[t]) }
let flag = fn(x: Bool[N], w: I4[N]) -> Bool[N] { (x.cast(I4) + w).cast(Bool) }
let flags = fn(x: Bool[N], w: I4[L, N]) -> Bool[N] { fold(flag, x, over=[w]) }
let half = fn(x: BF16[N], w: BF16[N], s: BF16[]) -> BF16[N] {
  (x * w).softmax(axis=0) + x * s.broadcast([N])
}
let halves = fn(x: BF16[N], w: BF16[L, N], s: BF16[]) -> BF16[N] {
  fold(half, x, over=[w], with=[s])
}
let dhalves = reverseMode(halves)
let scale = fn(x: F32[], w: F32[]) -> F32[] { x * w + w }
let horner = fn(x: F32[], w: F32[L]) -> F32[] { fold(scale, x, over=[w]) }
let dhorner = reverseMode(horner)

let embed = fn(x: F32[N, 2], i: I64[N], table: F32[V, 2]) -> F32[N, 2] {
  x * 0.5 + table.gather(i)
}
let lookups = fn(x: F32[N, 2], i: I64[L, N], table: F32[V, 2])
  -> F32[N, 2] {
  fold(embed, x, over=[i], with=[table])
}
let dlookups = reverseMode(lookups)

let four = fn(x: F32[N], a: F32[N], b: F32[N], m: F32[N], n: F32[N])
  -> F32[N] { x * a - b * m * x + n * x }
let doubled = fn(x: F32[N], w: F32[L, N]) -> F32[N] {
  fold(four, x, over=[w, w], with=[x, x]) * x
}
let ddoubled = reverseMode(doubled)
let kept = fn(x: F32[N], w: F32[N]) -> F32[N] { x }
let keeping = fn(x: F32[N], w: F32[L, N]) -> F32[N] { fold(kept, x, over=[w]) }
let dkeeping = reverseMode(keeping)
let fresh = fn(x: F32[N], w: F32[N]) -> F32[N] { w * w }
let last = fn(x: F32[N], w: F32[L, N]) -> F32[N] { fold(fresh, x, over=[w]) }
let dlast = reverseMode(last)
let row = fn(x: F32[N + 1], w: F32[N]) -> F32[N + 1] {
  x * w.reduce(op=mean, axis=0).broadcast([N + 1])
}
let rows = fn(x: F32[T + 1], w: F32[2 * T, T]) -> F32[T + 1] {
  fold(row, x, over=[w])
}
let drows = reverseMode(rows)
type Pair = { twice: F32[N], index: I64[] }
let several = fn(x: F32[N], w: F32[N], i: I64[]) -> (F32[N], F32[], Pair) {
  let y = x * w + w in
  (y, (y * x).reduce(op=sum, axis=0), Pair(twice=y + y, index=i + y.reduce(op=argmax, axis=0)))
}
let stacks = fn(x: F32[N], w: F32[L, N], i: I64[L]) -> (F32[N], F32[L], F32[L, N], I64[L]) {
  let (last, sums, pair) = fold(several, x, over=[w, i]) in
  (last, sums * 2.0, pair.twice, pair.index)
}
let energy = fn(x: F32[N], w: F32[L, N], i: I64[L]) -> F32[] {
  let (last, sums, pair) = fold(several, x, over=[w, i]) in
  last.reduce(op=sum, axis=0) + (sums * sums).reduce(op=sum, axis=0)
    + (pair.twice * w).reduce(op=sum, axis=0).reduce(op=sum, axis=0)
}
let denergy = reverseMode(energy)
""")

FIRST = PROGRAM.split("let dm")[0]
"""A fold and its gradient."""


def normal(*shape: int, seed: int = 1, dtype: type = np.float32) -> np.ndarray:
    """Random numbers of a moderate size."""
    return (np.random.default_rng((seed, *shape)).normal(size=shape) * 0.5).astype(dtype)


BF16 = ml_dtypes.bfloat16
X, W, B, M, CT = normal(5, 4), normal(3, 4), normal(3, 5, 4), normal(4), normal(5, 4, seed=2)
NESTED = normal(3), normal(4, 2, 3), normal(3, seed=3)
IDS = np.array([[0, 1, 1], [2, 0, 0]])
CALLS: dict[str, tuple[object, ...]] = {
    "f": (X, W, B, M),
    "df": (X, W, B, M, CT),
    "dm": (X, W, B, M, CT),
    "dw": (X, W, B, M, CT),
    "ddf": (X, W, B, M, CT, CT, X, W, B, M),
    "nested": NESTED,
    "dloss": NESTED,
    "ddloss": (*NESTED, *NESTED),
    "digits": (np.array([1, 2]), np.arange(8).reshape(4, 2)),
    "flags": (np.array([True, False]), np.array([[1, 0], [-2, 0]]).astype(ml_dtypes.int4)),
    "halves": (normal(4, dtype=BF16), normal(5, 4, dtype=BF16), normal(dtype=BF16)),
    "dhalves": tuple(normal(*s, dtype=BF16) for s in ((4,), (5, 4), (), (4,))),
    "horner": (normal(), normal(6)),
    "dhorner": (normal(), normal(6)),
    "lookups": (normal(3, 2), IDS, normal(3, 2)),
    "dlookups": (normal(3, 2), IDS, normal(3, 2), normal(3, 2, seed=4)),
    "doubled": (normal(3), normal(4, 3)),
    "ddoubled": (normal(3), normal(4, 3), normal(3, seed=5)),
    "dkeeping": (normal(3), normal(4, 3), normal(3, seed=5)),
    "dlast": (normal(3), normal(4, 3), normal(3, seed=5)),
    "stacks": (normal(3), normal(4, 3), np.arange(4)),
    "energy": (normal(3), normal(4, 3), np.arange(4)),
    "denergy": (normal(3), normal(4, 3), np.arange(4)),
    "rows": (normal(4), normal(6, 3)),
    "drows": (normal(4), normal(6, 3), normal(4, seed=5)),
}


@pytest.fixture(scope="module", params=[True, False], ids=["fast", "plain"])
def module(request: pytest.FixtureRequest) -> kina.Module:
    """The program on one of the two pipelines."""
    return kina.compile(PROGRAM, fast=bool(request.param), threads=False)


def results(given: object) -> list[np.ndarray]:
    """Results as a list of arrays."""
    return list(given) if isinstance(given, tuple) else [given]  # pyright: ignore[reportReturnType]


@pytest.mark.parametrize("name", CALLS)
def test_folds_agree_with_the_reference(module: kina.Module, name: str) -> None:
    function, given = module[name], CALLS[name]
    got, wanted = results(function(*given)), results(function.reference(*given))
    small = got[0].dtype == BF16
    for mine, theirs in zip(got, wanted, strict=True):
        assert mine.shape == theirs.shape
        wide = theirs.astype(np.float64)
        np.testing.assert_allclose(
            mine.astype(np.float64),
            wide,
            rtol=0.05 if small else 2e-5,
            atol=0.05 if small else 1e-5,
        )


def test_the_bits_are_those_of_calls(module: kina.Module) -> None:
    """Forward and back: gradients of what every layer reads are summed in the same order."""
    layers = [array for pair in zip(W, B, strict=True) for array in pair]
    np.testing.assert_array_equal(module.f(X, W, B, M), module.three(X, *layers, M))
    y, x, w, b, m = module.df(X, W, B, M, CT)
    expected = module.dthree(X, *layers, M, CT)
    stacks = np.stack(expected[2:-1:2]), np.stack(expected[3:-1:2])
    for mine, theirs in zip((y, x, w, b, m), (*expected[:2], *stacks, expected[-1]), strict=True):
        assert mine.tobytes() == theirs.tobytes()
    assert module.dm(X, W, B, M, CT)[1].tobytes() == m.tobytes()
    assert module.dw(X, W, B, M, CT)[1].tobytes() == w.tobytes()


@pytest.mark.parametrize("layers", [1, 2, 7])
def test_any_number_of_layers(module: kina.Module, layers: int) -> None:
    x, w = normal(), normal(layers)
    expected = np.float32(x)
    for weight in w:
        expected = expected * weight + weight
    assert module.horner(x, w) == expected
    assert module.digits(np.array([0]), np.array([[1], [2], [3], [4]])) == [1234]


def test_what_each_layer_gives_is_stacked(module: kina.Module) -> None:
    x, w, i = CALLS["stacks"]
    last, sums, twice, index = module.stacks(x, w, i)
    for layer, (weight, number) in enumerate(zip(w, i, strict=True)):
        y = x * weight + weight
        assert twice[layer].tobytes() == (y + y).tobytes()
        assert sums[layer] == pytest.approx(2 * float((y * x).sum()), rel=1e-6)
        assert index[layer] == number + y.argmax()
        x = y
    assert last.tobytes() == x.tobytes()


def float64_loss(x: np.ndarray, w: np.ndarray, m: np.ndarray) -> float:
    """`loss`, written by hand."""
    for _ in range(2):
        for layer in w:
            y = x * 0.5
            for weight in layer:
                y = np.exp(y * weight + m) / np.sqrt(y * y + 1.5) - m * y
            x = y - m
        x = x * m
    return float(x.mean())


def test_gradients_are_slopes(module: kina.Module) -> None:
    """Of folds in a fold, in functions that are called twice."""
    value, *gradients = module.dloss(*NESTED)
    arguments = [array.astype(np.float64) for array in NESTED]
    assert value == pytest.approx(float64_loss(*arguments), rel=1e-5)
    for array, gradient in zip(arguments, gradients, strict=True):
        for place in np.ndindex(array.shape):
            before, slopes = array[place], []
            for step in (1e-6, -1e-6):
                array[place] = before + step
                slopes.append(float64_loss(*arguments))
            array[place] = before
            assert gradient[place] == pytest.approx(
                (slopes[0] - slopes[1]) / 2e-6, abs=1e-4, rel=1e-3
            )


@pytest.mark.parametrize("name", ["lookups", "dlookups"])
def test_a_bad_index_in_a_layer_is_an_error(module: kina.Module, name: str) -> None:
    """At the place in the function, with the layer; later calls are not harmed."""
    x, ids, *others = CALLS[name]
    good = [r.tobytes() for r in results(module[name](x, ids, *others))]
    for bad in (np.array([[0, 1, 1], [2, 0, 3]]), np.array([[0, -1, 1], [2, 9, 3]])):
        with pytest.raises(KinaIndexError) as caught:
            module[name](x, bad, *others)
        with pytest.raises(KinaIndexError) as expected:
            module[name].reference(x, bad, *others)
        assert str(caught.value) == str(expected.value)
        layer, at, index = (1, 2, 3) if bad[0, 1] == 1 else (0, 1, -1)
        assert f"gather: index {index} at [{at}] of indices" in str(caught.value)
        assert f"this fold was at layer {layer}" in str(caught.value)
    assert [r.tobytes() for r in results(module[name](x, ids, *others))] == good


def test_layers_may_not_be_missing(module: kina.Module) -> None:
    with pytest.raises(kina.KinaValueError):
        module.horner(normal(), np.zeros(0, np.float32))


@pytest.mark.parametrize(
    "target", ["x86-64-v2", pytest.param("x86-64-v3", marks=pytest.mark.sweep)]
)
def test_every_target_gives_the_same_bits(target: str) -> None:
    native, other = kina.compile(FIRST), kina.compile(FIRST, target=target)
    mine = [r.tobytes() for r in results(native.df(*CALLS["df"]))]
    assert mine == [r.tobytes() for r in results(other.df(*CALLS["df"]))]


def test_threads_in_layers_change_no_bit() -> None:
    """The function's own kernels are large enough for a team."""
    module = kina.compile(FIRST)
    x, w, b, m = normal(40_000, 4), normal(2, 4), normal(2, 40_000, 4), normal(4)
    found = []
    try:
        for count in (1, 3):
            kina.set_num_threads(count)
            found.append([r.tobytes() for r in module.df(x, w, b, m, x)])
    finally:
        kina.set_num_threads(None)
    assert found[0] == found[1]


SIZED = """
let block = fn(x: tensor<F32, [8, 16]>, w: tensor<F32, [16]>) -> tensor<F32, [8, 16]> {
  let y = (x * w.broadcast([8, 16])).softmax(axis=1) + x in
  let z = y.log_softmax(axis=0) * y.exp() in
  z / (z * z).reduce_keep(op=mean, axis=1).sqrt().broadcast([8, 16]) + y.softmax(axis=0)
}
let f = fn(x: tensor<F32, [8, 16]>, w: tensor<F32, [LAYERS, 16]>) -> tensor<F32, [8, 16]> {
  fold(block, x, over=[w])
}
let df = reverseMode(f)
"""


def test_code_does_not_grow_with_the_number_of_layers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    for layers in (2, 48):
        monkeypatch.setenv("KINA_CACHE", str(tmp_path / str(layers)))
        module = kina.compile(SIZED.replace("LAYERS", str(layers)))
        assert module.df(normal(8, 16), normal(layers, 16), normal(8, 16))[2].shape == (layers, 16)
        (library,) = (tmp_path / str(layers)).rglob("*.so")
        sizes.append(library.stat().st_size)
    assert abs(sizes[1] - sizes[0]) <= 0.05 * sizes[0]
