"""Infinities, NaN and sizes as numbers beside tensors: in every dtype, static and symbolic."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import kina
from helpers.expect import same_bits
from helpers.inputs import random_array
from helpers.same import as_tuple
from kina.arrays import numpy_dtype
from kina.dtypes import DTYPES, FREM

SIZES = [(1, 1), (2, 3), (5, 70), (7, 65)]
"""Rows and columns; the last pair is that of the static functions."""
HALF = sorted(FREM - {"F8E4M3"})
"""Float dtypes that have an infinity."""
FLOATS = ["F32", "F16", "F8E4M3"]
WHOLE = ["I64", "I8", "I4"]


def special(dtype: str) -> str:
    return (
        f"let special_{dtype} = fn(x: tensor<{dtype}, [M, N]>) -> (tensor<{dtype}, [M, N]>, "
        f"tensor<{dtype}, [M, N]>, tensor<Bool, [M, N]>, tensor<{dtype}, [M, N]>) {{\n"
        f"  let low = -inf in ((x > 0).select(x, low), x.minimum(inf) + (1 / low), x < inf,\n"
        "   (x < 1).select(inf - inf, x))\n}"
    )


def floats(dtype: str) -> str:
    t = f"tensor<{dtype}, [M, N]>"
    return (
        f"let sizes_{dtype} = fn(x: {t}) -> ({t}, {t}, {t}) {{\n"
        "  let scale = 1 / sqrt(N) in\n"
        "  (x * scale, x + N, x - (M - N) * 2)\n}"
    )


def integers(dtype: str) -> str:
    t = f"tensor<{dtype}, [M, N]>"
    return (
        f"let sizes_{dtype} = fn(x: {t}) -> ({t}, {t}, tensor<Bool, [M, N]>) {{\n"
        "  (x + M, x.rem(M - 9) - (-M), x < M)\n}"
    )


def static(text: str) -> str:
    """The same function of known sizes: it calls the other."""
    m, n = SIZES[-1]
    head, _, _ = text.partition(" {\n")
    name = head.split()[1]
    fixed = head.replace(name, f"fixed_{name}").replace("[M, N]", f"[{m}, {n}]")
    return f"{fixed} {{ {name}(x) }}"


@cache
def module(*, fast: bool) -> kina.Module:
    """Plain loops are compiled for some dtypes: they differ in their loops only."""
    kept = DTYPES if fast else ("F32", "I8")
    texts = [special(dtype) for dtype in HALF if dtype in kept]
    sizes = [floats(dtype) for dtype in FLOATS if dtype in kept]
    sizes += [integers(dtype) for dtype in WHOLE if dtype in kept]
    texts += [*sizes, *map(static, sizes)]
    texts += [
        "let layer = fn(x: tensor<F32, [M, N]>, w: tensor<F32, [N]>) -> tensor<F32, [M, N]> {\n"
        "  x * w.broadcast([M, N]) / sqrt(N) + M\n}",
        "let folded = fn(x: tensor<F32, [M, 5]>, w: tensor<F32, [L, 5]>) -> tensor<F32, [M, 5]> {\n"
        "  fold(layer, x, over=[w]) * L\n}",
        "let dfolded = reverseMode(folded, wrt=[x])",
        "let window = fn(x: tensor<F32, [A + B]>, a: tensor<F32, [A]>, b: tensor<F32, [B]>, "
        "n: size) -> (tensor<F32, [B]>, tensor<F32, [n]>, tensor<F32, [A + B]>) {\n"
        "  (x.slice(axis=0, start=A, size=B), x.slice(axis=0, start=A + B - n, size=n),\n"
        "   x.update(b, at=A, axis=0))\n}",
        "let small = fn(x: tensor<I8, [N]>, y: tensor<F16, [K]>) -> "
        "(tensor<I8, [N]>, tensor<F16, [K]>) { (x + (N - K), y / K) }",
    ]
    return kina.compile("\n".join(texts), fast=fast, threads=False)


def agree(name: str, arrays: list[np.ndarray]) -> tuple[np.ndarray, ...]:
    """The results, which are those of plain loops and of the reference, bit for bit."""
    got = as_tuple(module(fast=True)[name](*arrays))
    types = module(fast=True)[name].type.results
    others = [as_tuple(module(fast=True)[name].reference(*arrays, ordered=True))]
    if name in module(fast=False):
        others.append(as_tuple(module(fast=False)[name](*arrays)))
    for other in others:
        for one, two, type_ in zip(got, other, types, strict=True):
            assert same_bits(one, two, type_.dtype).all(), name
    return got


@pytest.mark.parametrize("dtype", HALF)
def test_infinities_and_nan(dtype: str) -> None:
    x = random_array(np.random.default_rng(0), DTYPES[dtype], (4, 70), "special")
    chosen, same, less, nan = agree(f"special_{dtype}", [x])
    wide = x.astype(np.float32)
    with np.errstate(invalid="ignore"):
        assert np.isneginf(chosen.astype(np.float32)[~(wide > 0)]).all()
        assert less.tolist() == (wide < np.inf).tolist()
        assert np.isnan(nan.astype(np.float32)[wide < 1]).all()
    assert same_bits(same, (x + numpy_dtype(DTYPES[dtype]).type(-0.0)), DTYPES[dtype]).all()


@pytest.mark.parametrize("dtype", [*FLOATS, *WHOLE])
def test_sizes(dtype: str) -> None:
    """What NumPy computes of the same integers; a static function gives the symbolic one's bits."""
    is_float, type_ = dtype in FLOATS, numpy_dtype(DTYPES[dtype])
    for seed, (m, n) in enumerate(SIZES):
        x = random_array(np.random.default_rng(seed), DTYPES[dtype], (m, n), "plain")
        got = agree(f"sizes_{dtype}", [x])
        if is_float:
            wide = x.astype(np.float32)
            scale, number = (
                np.float32(value).astype(type_).astype(np.float32)
                for value in (1 / np.sqrt(np.float32(n)), n)
            )
            wanted = [wide * scale, wide + number]
        else:
            wide = x.astype(np.int64)
            wanted = [wide + m, np.fmod(wide, m - 9) + m]
        for one, two in zip(got, wanted, strict=False):
            assert same_bits(one, two.astype(type_), DTYPES[dtype]).all(), (dtype, m, n)
    fixed = agree(f"fixed_sizes_{dtype}", [x])
    for one, two in zip(got, fixed, strict=True):
        assert one.tobytes() == two.tobytes()


def test_a_mean_by_hand_is_the_mean() -> None:
    m = kina.compile(
        "let f = fn(x: tensor<F32, [M, N]>) -> (tensor<F32, [M]>, tensor<F32, [M]>) {\n"
        "  (x.reduce(op=mean, axis=1), x.reduce(op=sum, axis=1) / N)\n}"
    )
    x = np.random.default_rng(0).standard_normal((3, 20000)).astype(np.float32)
    mean, by_hand = m.f(x)
    assert mean.tolist() == by_hand.tolist()
    assert np.isnan(as_tuple(m.f.reference(x[:, :1]))[1]).sum() == 0


def test_in_layers_and_their_gradient() -> None:
    random = np.random.default_rng(1)
    x, w = (random.standard_normal((n, 5)).astype(np.float32) for n in (4, 3))
    (got,) = agree("folded", [x, w])
    wanted = x.astype(np.float64)
    for row in w:
        wanted = wanted * row / np.sqrt(5) + 4
    assert np.allclose(got, wanted * 3, 1e-5, 1e-5)
    value, slope = module(fast=True).dfolded(x, w, np.ones_like(x))
    assert value.tolist() == got.tolist()
    assert np.allclose(slope, np.prod(w / np.sqrt(5), axis=0) * 3 + 0 * x, 1e-5, 1e-6)


def test_windows_that_start_at_sizes() -> None:
    a, b = np.zeros(3, np.float32), np.float32([7, 8])
    x = np.arange(5, dtype=np.float32)
    for n, last in ((1, [4]), (0, []), (5, [0, 1, 2, 3, 4])):
        for f in (
            module(fast=True).window,
            module(fast=False).window,
            module(fast=True).window.reference,
        ):
            behind, end, written = f(x, a, b, n)
            assert (behind.tolist(), end.tolist()) == ([3, 4], last)
            assert written.tolist() == [0, 1, 2, 7, 8]
    for f in (
        module(fast=True).window,
        module(fast=False).window,
        module(fast=True).window.reference,
    ):
        with pytest.raises(kina.KinaIndexError, match=r"slice: start -1 is outside|size 6"):
            f(x, a, b, 6)


def test_a_size_that_the_dtype_does_not_hold() -> None:
    f = module(fast=True).small
    x, y = np.zeros(127, np.int8), np.ones(1, np.float16)
    assert f(x, y)[0][0] == 126
    for sizes, message in (
        ((129, 1), r"small: the number N - K is too large for I8, at most 127 \(K = 1, N = 129\)"),
        ((1, 130), r"the number N - K is too small for I8, at least -128"),
        ((65505, 65505), r"the number K is too large for F16, at most 65504 \(K = 65505\)"),
    ):
        with pytest.raises(kina.KinaValueError, match=message):
            f(np.zeros(sizes[0], np.int8), np.ones(sizes[1], np.float16))
    text = (
        "let f = fn(x: tensor<I8, [N]>) -> tensor<I8, [N]> { x + N }\n"
        "let g = fn(x: tensor<I8, [128]>) -> tensor<I8, [128]> { f(x) }"
    )
    with pytest.raises(kina.KinaTypeError, match=r"2:57: error: f: the number N is too large"):
        kina.compile(text)
