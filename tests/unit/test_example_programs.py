"""`examples/losses` and `examples/blocks`: values and gradients beside NumPy's in float64.

The gradients of NumPy are central differences: of the meaning that each program's comment gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import kina

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
Array = NDArray[Any]
Function = Callable[..., Any]
N, V = 5, 7
TARGETS = np.array([6, -100, 0, 3, -100])


def load(name: str) -> kina.Module:
    return kina.load(EXAMPLES / f"{name}.kina", threads=False)


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(5)


def close(ours: Any, theirs: Any, rtol: float = 1e-5, atol: float = 1e-6) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=atol)


def normal(random: np.random.Generator, *shape: int) -> Array:
    return random.standard_normal(shape).astype(np.float32)


def log_softmax(x: Array) -> Array:
    top = x.max(axis=-1, keepdims=True)
    return x - top - np.log(np.exp(x - top).sum(axis=-1, keepdims=True))


def picked(logp: Array, t: Array) -> Array:
    return np.take_along_axis(logp, t[..., None], axis=-1)[..., 0]


def differences(f: Function, arguments: list[Array], which: int, ct: Array | float = 1.0) -> Array:
    """The gradient of `sum(f(…) * ct)` by one argument, at its finite elements; 0 at the others."""
    whole = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in map(np.asarray, arguments)]
    x = whole[which] = whole[which].copy()
    slope, h = np.zeros_like(x), 1e-5
    for at in np.ndindex(x.shape):
        kept = x[at]
        if not np.isfinite(kept):
            continue
        ends: list[float] = []
        for x[at] in (kept + h, kept - h):
            ends.append(float((f(*whole) * ct).sum()))
        x[at] = kept
        slope[at] = (ends[0] - ends[1]) / (2 * h)
    return slope


def agrees(
    function: Any,
    slope: Any,
    meaning: Function,
    arguments: list[Array],
    wrt: tuple[int, ...] = (0,),
    cts: tuple[Array, ...] = (),
) -> None:
    """Value, and the value and the gradients of the reverse mode, are those of `meaning`."""
    wide = [a.astype(np.float64) if a.dtype.kind == "f" else a for a in map(np.asarray, arguments)]
    expected = meaning(*wide)
    close(function(*arguments), expected)
    value, *slopes = slope(*arguments, *cts)
    close(value, expected)
    assert len(slopes) == len(wrt)
    for which, got in zip(wrt, slopes, strict=True):
        theirs = differences(meaning, arguments, which, *cts)
        close(got, theirs, 1e-4, 2e-6)


def masked(random: np.random.Generator) -> Array:
    """Logits with classes that are excluded: one, all but one; and a row far from 0."""
    logits = normal(random, N, V)
    logits[1, 2] = logits[3, :3] = logits[3, 4:] = -np.inf
    logits[2] += 80
    return logits


def cross_entropy(x: Array, t: Array, smooth: float = 0.0) -> Any:
    kept = t != -100
    logp = log_softmax(x)[kept]
    if not kept.any():
        return np.float64(0)
    each = (1 - smooth) * picked(logp, t[kept])
    return -(each + (smooth * logp.mean(axis=1) if smooth else 0)).mean()


@pytest.mark.parametrize(("name", "smooth"), [("cross_entropy", 0.0), ("label_smoothing", 0.1)])
def test_cross_entropy(name: str, smooth: float, random: np.random.Generator) -> None:
    m = load(f"losses/{name}")

    def meaning(x: Array, t: Array) -> Any:
        return cross_entropy(x, t, smooth)

    for targets in (TARGETS, np.arange(N), np.full(N, -100)):
        agrees(m[name], m[f"d{name}"], meaning, [normal(random, N, V), targets])
    logits = normal(random, N, V)
    logits[TARGETS == -100] = np.nan
    _, slope = m[f"d{name}"](logits, TARGETS)
    assert not slope[TARGETS == -100].any(), "an ignored row has a gradient"
    value, slope = m[f"d{name}"](np.full((N, V), np.inf, np.float32), np.full(N, -100))
    assert (float(value), slope.any()) == (0.0, False)
    with pytest.raises(kina.KinaIndexError, match="index -1 "):
        m[name](normal(random, N, V), np.full(N, -1))


def test_cross_entropy_of_excluded_classes(random: np.random.Generator) -> None:
    m = load("losses/cross_entropy")
    logits = masked(random)
    agrees(m.cross_entropy, m.dcross_entropy, cross_entropy, [logits, np.array([6, 0, 1, 3, -100])])
    assert m.cross_entropy(logits, np.full(N, 2)) == np.inf


def entropy(x: Array) -> Array:
    logp = log_softmax(x)
    with np.errstate(invalid="ignore"):
        return -np.where(np.isinf(logp), 0, np.exp(logp) * logp).sum(axis=-1)


def divergence(x: Array, y: Array) -> Array:
    logp, logq = log_softmax(x), log_softmax(y)
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(logp), 0, np.exp(logp) * (logp - logq)).sum(axis=-1)


def test_entropy_and_divergence(random: np.random.Generator) -> None:
    m = load("losses/entropy")
    x, ct = masked(random), normal(random, N)
    agrees(m.entropy, m.dentropy, entropy, [x], cts=(ct,))
    for y in (normal(random, N, V), np.where(np.isinf(x), x, normal(random, N, V))):
        agrees(m.divergence, m.ddivergence, divergence, [x, y], (0, 1), (ct,))
    assert np.isposinf(m.divergence(normal(random, N, V), x)[[1, 3]]).all()


def test_distillation(random: np.random.Generator) -> None:
    m = load("losses/distillation")

    def meaning(student: Array, teacher: Array, heat: Array) -> Any:
        return divergence(teacher / heat, student / heat).mean() * heat**2

    arguments = [normal(random, N, V), masked(random), np.float32(2.5)]
    agrees(m.distillation, m.ddistillation, meaning, arguments)


def test_ppo(random: np.random.Generator) -> None:
    m = load("losses/ppo")

    def meaning(x: Array, actions: Array, old: Array, advantage: Array) -> Any:
        ratio = np.exp(picked(log_softmax(x), actions) - old)
        return -np.minimum(ratio * advantage, ratio.clip(0.8, 1.2) * advantage).mean()

    logits, actions = normal(random, 6, V), random.integers(0, V, 6)
    steps = np.log([0.5, 1.5, 0.5, 1.5, 1.1, 0.9])
    old = (picked(log_softmax(logits), actions) - steps).astype(np.float32)
    advantage = np.float32([1, 1, -1, -1, 2, -2])
    agrees(m.ppo, m.dppo, meaning, [logits, actions, old, advantage])
    _, slope = m.dppo(logits, actions, old, advantage)
    assert slope.any(axis=1).tolist() == [True, False, False, True, True, True]


def test_shifted(random: np.random.Generator) -> None:
    m = load("losses/shifted")

    def meaning(x: Array, tokens: Array) -> Array:
        return -picked(log_softmax(x[:, :-1]), tokens[:, 1:]).mean(axis=1)

    for length in (2, 5):
        x, tokens = normal(random, 3, length, V), random.integers(0, V, (3, length))
        agrees(m.shifted, m.dshifted, meaning, [x, tokens], cts=(normal(random, 3),))
    with pytest.raises(kina.KinaValueError, match="empty"):
        m.shifted(normal(random, 3, 1, V), np.zeros((3, 1), np.int64))


def test_z_loss_and_soft_cap(random: np.random.Generator) -> None:
    z, cap = load("losses/z_loss"), load("losses/soft_cap")

    def with_z(x: Array, t: Array) -> Any:
        square = (x - log_softmax(x))[:, 0] ** 2
        return (-picked(log_softmax(x), t) + 1e-4 * square).mean()

    def capped(x: Array, t: Array) -> Array:
        return -picked(log_softmax(30 * np.tanh(x / 30)), t)

    x, t = normal(random, N, V) * 20, random.integers(0, V, N)
    agrees(z.z_loss, z.dz_loss, with_z, [x, t])
    agrees(cap.soft_cap, cap.dsoft_cap, capped, [x, t], cts=(normal(random, N),))
    x[0, t[0]], x[1, (t[1] + 1) % V] = np.inf, -np.inf
    value, slope = cap.dsoft_cap(x, t, np.ones(N, np.float32))
    assert np.isfinite(value).all()
    assert np.isfinite(slope).all()


def test_filters(random: np.random.Generator) -> None:
    m = load("losses/filters")
    x = masked(random)
    np.testing.assert_array_equal(m.temperature(x, np.float32(0.7)), x / np.float32(0.7))
    history = np.array([[0, 0, 3], [2, 2, -1], [-1, -1, -1], [6, 5, 4], [1, 2, 3]])
    seen = np.zeros((N, V), bool)
    for row, tokens in enumerate(history):
        seen[row, tokens[tokens >= 0]] = True
    penalty = np.float32(1.3)
    expected = np.where(seen, np.where(x > 0, x / penalty, x * penalty), x)
    np.testing.assert_array_equal(m.repetition_penalty(x, history, penalty), expected)
    p = np.exp(log_softmax(x.astype(np.float64)))
    expected = np.where(p >= 0.2 * p.max(axis=1, keepdims=True), x, -np.inf)
    np.testing.assert_array_equal(m.min_p(x, np.float32(0.2)), expected)


def gelu(x: Array) -> Array:
    return x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2


def test_norm_blocks(random: np.random.Generator) -> None:
    m = load("blocks/norms")

    def rms(x: Array, norm: Array, gate: Array, up: Array, down: Array) -> Array:
        h = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + 1e-6) * norm
        return x + (h @ gate / (1 + np.exp(-h @ gate)) * (h @ up)) @ down

    def layer(x: Array, weight: Array, bias: Array, up: Array, down: Array) -> Array:
        spread = np.sqrt(x.var(axis=-1, keepdims=True) + 1e-5)
        h = (x - x.mean(axis=-1, keepdims=True)) / spread * weight + bias
        return x + gelu(h @ up) @ down

    x, ct = normal(random, 2, 3, 5), normal(random, 2, 3, 5)
    up, down = normal(random, 5, 7), normal(random, 7, 5)
    weight, bias = normal(random, 5), normal(random, 5)
    every = (0, 1, 2, 3, 4)
    agrees(m.rms_block, m.drms_block, rms, [x, weight, up + 1, up, down], every, (ct,))
    close(m.layer_block(x, weight, bias, up, down), layer(x, weight, bias, up, down))


def rotate(x: Array, cosine: Array, sine: Array) -> Array:
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cosine - b * sine, b * cosine + a * sine], axis=-1)


def attention(groups: int, queries: int) -> Function:
    """Grouped-query attention: the keys and values of a group serve its queries."""

    def split(x: Array, count: int) -> Array:
        return x.reshape(*x.shape[:2], count, -1).swapaxes(1, 2)

    def run(x: Array, *rest: Array) -> Array:
        wq, wk, wv, wo, cosine, sine = rest
        q, k, v = split(x @ wq, groups * queries), split(x @ wk, groups), split(x @ wv, groups)
        q, k = rotate(q, cosine, sine), rotate(k, cosine, sine)
        k, v = np.repeat(k, queries, axis=1), np.repeat(v, queries, axis=1)
        past = np.tri(x.shape[1], dtype=bool)
        p = np.exp(
            log_softmax(np.where(past, q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]), -np.inf))
        )
        return (p @ v).swapaxes(1, 2).reshape(*x.shape[:2], -1) @ wo

    return run


@pytest.mark.parametrize(("groups", "queries"), [(3, 1), (2, 3)])
def test_attention(groups: int, queries: int, random: np.random.Generator) -> None:
    m = load("blocks/attention")
    batch, length, width, half = 2, 3, 5, 1
    wide, narrow = 2 * half * groups * queries, 2 * half * groups
    shapes = [
        (batch, length, width),
        (width, wide),
        (width, narrow),
        (width, narrow),
        (wide, width),
    ]
    angle = np.arange(length)[:, None] * 10000.0 ** -(np.arange(half) / half)
    tables = [np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)]
    arguments: list[Any] = [*(normal(random, *s) for s in shapes), *tables]
    meaning = attention(groups, queries)
    ct = normal(random, batch, length, width)

    def ours(*a: Array) -> Any:
        return m.grouped_query(*a, groups, queries)

    def slope(*a: Array) -> Any:
        return m.dgrouped_query(*a[:-1], groups, queries, a[-1])

    agrees(ours, slope, meaning, arguments, (0, 1), (ct,))
    if queries == 1:
        got = m.multi_head(*arguments, groups)
        assert got.tobytes() == ours(*arguments).tobytes(), "groups of one are heads"
    x = normal(random, batch, length, width)
    x[:, :-1] = arguments[0][:, :-1]
    later = [x, *arguments[1:]]
    assert ours(*later)[:, :-1].tobytes() == ours(*arguments)[:, :-1].tobytes(), (
        "the future is read"
    )


def test_kv_cache(random: np.random.Generator) -> None:
    """Each step writes one row, in place, and sees the rows so far; the others may be NaN."""
    attend = load("blocks/kv_cache").attend
    heads, length, width = 3, 5, 7
    keys, values = np.full((2, 2, heads, length, width), np.nan, np.float32)
    q, k, v = normal(random, 3, 2, heads, length, width)
    scores = q.astype(np.float64) @ k.swapaxes(-1, -2) / np.sqrt(width)
    p = np.exp(log_softmax(np.where(np.tri(length, dtype=bool), scores, -np.inf)))
    assert "out0 may be keys, out1 may be values" in str(attend.type)
    for at in range(length):
        rows = [a[:, :, at : at + 1] for a in (q, k, v)]
        *_, got = attend(keys, values, *rows, np.int64(at), out=(keys, values, None))
        close(got, (p @ v)[:, :, at : at + 1])
        assert np.isnan(keys[:, :, at + 1 :]).all()
    assert (keys.tobytes(), values.tobytes()) == (k.tobytes(), v.tobytes())
    with pytest.raises(kina.KinaIndexError, match="update: at 5 "):
        attend(keys, values, *[a[:, :, :1] for a in (q, k, v)], np.int64(length))


def test_adamw(random: np.random.Generator) -> None:
    """Three steps over a record, beside the formulas in float64."""
    m = load("blocks/adamw")
    x, targets, rate = normal(random, N, 3), random.integers(0, V, N), np.float32(0.1)
    p: Any = {"weight": normal(random, 3, V), "bias": normal(random, V)}
    zero = {name: np.zeros_like(value) for name, value in p.items()}
    state: Any = {"m": zero, "v": zero, "scale_m": np.float32(0), "scale_v": np.float32(0)}
    wide = {name: value.astype(np.float64) for name, value in p.items()}
    first, second = dict(zero), dict(zero)
    for step in range(1, 4):
        logp = log_softmax(x @ wide["weight"] + wide["bias"])
        d = (np.exp(logp) - np.eye(V)[targets]) / N
        p, state, loss = m.step(p, state, x, targets, rate)
        close(loss, -picked(logp, targets).mean())
        for name, g in {"weight": x.T.astype(np.float64) @ d, "bias": d.sum(axis=0)}.items():
            first[name] = 0.9 * first[name] + 0.1 * g
            second[name] = 0.999 * second[name] + 0.001 * g**2
            spread = np.sqrt(second[name] / (1 - 0.999**step)) + 1e-8
            way = first[name] / (1 - 0.9**step) / spread + 0.01 * wide[name]
            wide[name] = wide[name] - 0.1 * way
            close(getattr(p, name), wide[name], 1e-4, 1e-5)


def test_quantised_weights(random: np.random.Generator) -> None:
    m = load("blocks/quantised")
    x, scale, ct = normal(random, 3, 6), np.abs(normal(random, 5)) / 64, normal(random, 3, 5)
    weight = random.integers(-128, 128, (6, 5)).astype(np.int8)

    def int8(x: Array, w: Array, scale: Array) -> Array:
        return x @ w * scale

    def int4(x: Array, packed: Array, scale: Array) -> Array:
        low = (packed & 15).astype(np.int64)
        low -= 16 * (low > 7)
        return x @ np.concatenate([low, packed >> 4]) * scale

    agrees(m.int8, m.dint8, int8, [x, weight, scale], (0, 2), (ct,))
    agrees(m.int4, m.dint4, int4, [x, weight[:3], scale], (0, 2), (ct,))
    s = np.abs(x).max(axis=1, keepdims=True) / np.float32(127)
    whole: Array = np.round(x / s).astype(np.int64)
    expected = whole @ weight * s * scale.astype(np.float64)
    close(m.int8_both(x, weight, scale), expected)
    assert not m.int8_both(0 * x, weight, scale).any()
