"""Composites over the range of F32: bounds, both ends, gradients, rounding once."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import kina
from helpers.composites import BOUNDS, EXACT, normed, slack
from kina.arrays import Array

UNARY = [name for name in EXACT if name != "xlogy"]
ROWS = "tensor<F32, [B, V]>"
VECTOR = "tensor<F32, [V]>"
SOURCE = "\n".join(
    [
        *(
            f"let {name}_of = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> {{ x.{name}() }}"
            f"\nlet d{name} = reverseMode({name}_of)"
            for name in UNARY
        ),
        "let xlogy_of = fn(x: tensor<F32, [N]>, y: tensor<F32, [N]>) -> tensor<F32, [N]>"
        " { x.xlogy(y) }\nlet dxlogy = reverseMode(xlogy_of)",
        f"let lse = fn(x: {ROWS}) -> tensor<F32, [B]> {{ x.logsumexp(axis=1) }}",
        "let dlse = reverseMode(lse)",
        f"let rms = fn(x: {ROWS}, w: {VECTOR}) -> {ROWS} {{ x.rms_norm(w, axis=1, eps=1e-5) }}",
        "let drms = reverseMode(rms)",
        f"let layer = fn(x: {ROWS}, w: {VECTOR}, b: {VECTOR}) -> {ROWS}"
        " { x.layer_norm(w, b, axis=1, eps=1e-5) }\nlet dlayer = reverseMode(layer)",
    ]
)
SMALL = "\n".join(
    f"let {name}_{dtype} = fn(x: tensor<{dtype}, [N]>) -> tensor<{dtype}, [N]> {{ x.{name}() }}"
    for name in UNARY
    for dtype in ("F32", "BF16")
)


@pytest.fixture(scope="module")
def module() -> kina.Module:
    return kina.compile(SOURCE, threads=False)


def everywhere(stride: int = 16411) -> Array:
    """A stride of all numbers, and many where the functions bend."""
    bits = np.arange(0, 1 << 32, stride, dtype=np.uint64).astype(np.uint32).view(np.float32)
    near = np.linspace(-120, 120, 200_003).astype(np.float32)
    ends = np.float32([0, -0.0, np.inf, -np.inf, 3.4028235e38, -3.4028235e38, 1e-45, np.nan])
    return np.concatenate([bits, near, ends])


@pytest.mark.parametrize("name", UNARY)
def test_within_the_stated_bounds(module: kina.Module, name: str) -> None:
    """Of float64, everywhere; NaN for NaN and for nothing else."""
    x = everywhere()
    with np.errstate(all="ignore"):
        exact = EXACT[name](x.astype(np.float64))
        rounded = exact.astype(np.float32)
    got = module[f"{name}_of"](x)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(x))
    known = ~np.isnan(x)
    infinite = np.isinf(rounded)
    np.testing.assert_array_equal(got[known & infinite], rounded[known & infinite])
    asked = known & ~infinite
    error = np.abs(got[asked].astype(np.float64) - exact[asked])
    wrong = error > slack(name, exact[asked])
    assert not wrong.any(), (x[asked][wrong][:5], got[asked][wrong][:5], rounded[asked][wrong][:5])


ENDS: dict[str, tuple[float, float, float]] = {
    "sigmoid": (0.0, 0.5, 1.0),
    "log_sigmoid": (-np.inf, -np.log(2), 0.0),
    "softplus": (0.0, np.log(2), np.inf),
    "silu": (-0.0, 0.0, np.inf),
    "gelu": (-0.0, 0.0, np.inf),
    "gelu_tanh": (-0.0, 0.0, np.inf),
}
"""At -inf, 0 and +inf."""
SLOPES: dict[str, tuple[float, float, float]] = {
    "sigmoid": (0.0, 0.25, 0.0),
    "log_sigmoid": (1.0, 0.5, 0.0),
    "softplus": (0.0, 0.5, 1.0),
    "silu": (0.0, 0.5, 1.0),
    "gelu": (0.0, 0.5, 1.0),
    "gelu_tanh": (0.0, 0.5, 1.0),
}


@pytest.mark.parametrize("name", UNARY)
def test_both_ends_and_the_middle(module: kina.Module, name: str) -> None:
    """The limits, with their signs; and those of the slopes, where nothing is NaN."""
    x = np.float32([-np.inf, 0, np.inf])
    value, slope = module[f"d{name}"](x, np.ones(3, np.float32))
    wanted = np.float32(ENDS[name])
    np.testing.assert_array_equal(value, wanted)
    np.testing.assert_array_equal(np.signbit(value), np.signbit(wanted))
    np.testing.assert_array_equal(slope, np.float32(SLOPES[name]))


def slope_of(name: str, x: Array) -> Array:
    """The derivative in float64, by central differences of exact functions."""
    step = 1e-5 * np.maximum(1.0, np.abs(x))
    return (EXACT[name](x + step) - EXACT[name](x - step)) / (2 * step)


@pytest.mark.parametrize("name", UNARY)
def test_slopes(module: kina.Module, name: str) -> None:
    """No NaN for any number; near the differences of float64 where the functions bend."""
    x = everywhere()
    slope = module[f"d{name}"](x, np.ones_like(x))[1]
    np.testing.assert_array_equal(np.isnan(slope), np.isnan(x))
    near = np.abs(x) < 80
    exact = slope_of(name, x[near].astype(np.float64))
    np.testing.assert_allclose(slope[near], exact, rtol=2e-5, atol=2e-7)


def test_slopes_keep_their_relative_precision(module: kina.Module) -> None:
    """y * (1 - y) of a rounded y is 0 from 17 on."""
    x = np.linspace(-80, 80, 1001).astype(np.float32)
    wide = x.astype(np.float64)
    power = np.exp(-np.abs(wide))
    for name, exact in {
        "sigmoid": power / (1 + power) ** 2,
        "log_sigmoid": EXACT["sigmoid"](-wide),
        "softplus": EXACT["sigmoid"](wide),
    }.items():
        slope = module[f"d{name}"](x, np.ones_like(x))[1]
        np.testing.assert_allclose(slope, exact, rtol=1e-6, atol=0)


def test_xlogy(module: kina.Module) -> None:
    """0 where x is 0, whatever y is, and so are its gradients where log(y) is no number."""
    nan, inf = np.nan, np.inf
    x = np.float32([0, -0.0, 0, 0, 0, 0, 1, 2, 1, nan, 0.5])
    y = np.float32([0, 0, -1, nan, inf, 2, 0, -1, inf, 3, 0.25])
    value, dx, dy = module.dxlogy(x, y, np.ones_like(x))
    log = np.float32([0, 0, 0, 0, inf, np.log(2), -inf, nan, inf, np.log(3), np.log(0.25)])
    wanted = np.float32([0, 0, 0, 0, 0, 0, -inf, nan, inf, nan, 0.5 * np.log(0.25)])
    np.testing.assert_allclose(value, wanted, rtol=3e-7)
    assert not np.signbit(value[:6]).any()
    np.testing.assert_allclose(dx, log, rtol=3e-7)
    np.testing.assert_array_equal(dy, np.float32([0, 0, 0, 0, 0, 0, inf, -2, 0, nan, 2]))


def test_xlogy_within_its_bounds(module: kina.Module) -> None:
    """Products of all sizes; a logarithm near 0 is as precise as any."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal(20_000) * 2.0 ** rng.integers(-60, 60, 20_000)
    x = x.astype(np.float32)
    y = np.abs(x[::-1])
    y[::7] = 1 + rng.standard_normal(len(y[::7])) * 1e-3
    exact = EXACT["xlogy"](x.astype(np.float64), y.astype(np.float64))
    error = np.abs(module.xlogy_of(x, y).astype(np.float64) - exact)
    assert (error <= slack("xlogy", exact)).all()


def test_logsumexp_of_hard_rows(module: kina.Module) -> None:
    nan, inf = np.nan, np.inf
    rows = np.float32(
        [
            [1, 2, 3],
            [-inf, -inf, -inf],
            [-inf, 0, 0],
            [inf, 1, -inf],
            [inf, inf, 0],
            [nan, -inf, -inf],
            [nan, inf, 0],
            [1e4, 1e4, -1e4],
            [3e38, 3e38, -3e38],
            [-3e38, -3e38, -3e38],
        ]
    )
    value, slope = module.dlse(rows, np.ones(len(rows), np.float32))
    two = np.log(2)
    wanted = [3.4076059, -inf, two, inf, inf, nan, nan, 1e4 + two, 3e38, -3e38]
    np.testing.assert_allclose(value, np.float32(wanted), rtol=2e-7)
    np.testing.assert_array_equal(slope[1], [0, 0, 0])
    np.testing.assert_array_equal(slope[2], [0, 0.5, 0.5])
    np.testing.assert_array_equal(slope[7], [0.5, 0.5, 0])
    np.testing.assert_allclose(slope[9], np.full(3, 1 / 3), rtol=2e-7)
    np.testing.assert_allclose(module.lse.reference(rows), value, rtol=2e-7)


def test_a_masked_row_has_no_gradient_whatever_its_cotangent(module: kina.Module) -> None:
    rows = np.full((2, 4), -np.inf, np.float32)
    slope = module.dlse(rows, np.float32([np.inf, np.nan]))[1]
    np.testing.assert_array_equal(slope, np.zeros_like(rows))


SCALES = (1.0, 1e30, 1e-30, 3e37, 1e-42, 2.0**48, 2.0**47)


@pytest.mark.parametrize("name", ["rms", "layer"])
def test_norms_of_rows_of_every_size(module: kina.Module, name: str) -> None:
    """Squares of 1e30 do not overflow, those of 1e-30 vanish beside eps."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((len(SCALES), 300)) * np.array(SCALES)[:, None]
    x = x.astype(np.float32)
    parameters = list(rng.standard_normal((1 if name == "rms" else 2, 300)).astype(np.float32))
    wide = [array.astype(np.float64) for array in (x, *parameters)]
    exact, allowed, _ = normed(wide[0], 1, float(np.float32(1e-5)), *wide[1:])
    for got in (module[name](x, *parameters), module[name].reference(x, *parameters)):
        assert (np.abs(got - exact) <= allowed).all()
    ct = np.ones_like(x)
    gradients = module[f"d{name}"](x, *parameters, ct)[1:]
    assert all(np.isfinite(gradient).all() for gradient in gradients)


def test_a_constant_row_gives_the_bias(module: kina.Module) -> None:
    """Also where its squares would overflow."""
    x = np.float32([[0] * 8, [3] * 8, [2.0**100] * 8])
    weight, bias = np.full(8, 5, np.float32), np.arange(8, dtype=np.float32)
    np.testing.assert_array_equal(module.layer(x, weight, bias), np.stack([bias] * 3))
    np.testing.assert_array_equal(module.rms(x[:1], weight), np.zeros((1, 8), np.float32))
    np.testing.assert_array_equal(module.rms(x[2:], weight), np.full((1, 8), 5, np.float32))


def test_gradients_of_norms_are_those_of_their_formulas(module: kina.Module) -> None:
    """In float64; rows of a gradient are orthogonal to what does not change a norm."""
    rng = np.random.default_rng(2)
    x, ct = rng.standard_normal((2, 5, 64))
    weight, bias = rng.standard_normal((2, 64))
    arrays = [array.astype(np.float32) for array in (x, weight, bias, ct)]
    centred = x - x.mean(1, keepdims=True)
    for name, value in {"rms": x, "layer": centred}.items():
        root = np.sqrt((value**2).mean(1, keepdims=True) + 1e-5)
        unit, share = value / root, ct * weight
        slope = share - unit * (share * unit).mean(1, keepdims=True)
        if name == "layer":
            slope = slope - share.mean(1, keepdims=True)
        wanted = [slope / root, (ct * unit).sum(0), ct.sum(0)]
        given = arrays if name == "layer" else [arrays[0], arrays[1], arrays[3]]
        found = module[f"d{name}"](*given)[1:]
        for gradient, exact in zip(found, wanted, strict=False):
            np.testing.assert_allclose(gradient, exact, rtol=1e-5, atol=2e-6)


def test_small_floats_round_once() -> None:
    """Every BF16: the result in F32, rounded."""
    module = kina.compile(SMALL, threads=False)
    codes = np.arange(1 << 16, dtype=np.uint16).view(ml_dtypes.bfloat16)
    wide = codes.astype(np.float32)
    for name in UNARY:
        got = module[f"{name}_BF16"](codes)
        wanted = module[f"{name}_F32"](wide).astype(ml_dtypes.bfloat16)
        same = got.view(np.uint16) == wanted.view(np.uint16)
        assert (same | np.isnan(wide)).all(), name


def test_every_composite_has_a_bound() -> None:
    assert BOUNDS.keys() == EXACT.keys()
