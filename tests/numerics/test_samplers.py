"""`examples/sampling`: the tokens of NumPy, written from the comments of the programs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

import kina
from helpers.philox import random_uniform

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "sampling"
Array = NDArray[Any]
SEED = np.array([12, 34])


class Settings(NamedTuple):
    """How to draw."""

    penalty: float = 1.0
    temperature: float = 1.0
    k: int = 40
    p: float = 2.0
    share: float = 0.0


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> kina.Module:
    """All of them in one library, and the combined one for k = 1 as well."""
    folder = tmp_path_factory.mktemp("sampling")
    for file in FOLDER.glob("*.kina"):
        (folder / file.name).write_text(file.read_text())
    combined = (FOLDER / "sampler.kina").read_text()
    head, settings, body = combined.partition("let sample = ")
    whole = head + settings.replace("sample", "sample_1") + body.replace("40", "1")
    whole += settings + body
    for name in ("min_p", "top_k", "top_p"):
        lines = (FOLDER / f"{name}.kina").read_text().splitlines()
        whole += "\n" + "\n".join(line for line in lines if not line.startswith("import"))
    for name, call in EXPORTS.items():
        whole += f"\nlet {name} = fn{call}"
    (folder / "all.kina").write_text(whole)
    return kina.load(folder / "all.kina")


EXPORTS = {
    "heated": "(x: tensor<F32, [B, V]>, t: tensor<F32, []>) -> tensor<F32, [B, V]> "
    "{ tempered(x, t) }",
    "penalty": "(x: tensor<F32, [B, V]>, s: tensor<Bool, [B, V]>, p: tensor<F32, []>) -> "
    "tensor<F32, [B, V]> { penalised(x, s, p) }",
}


def tempered(logits: Array, temperature: float) -> Array:
    top = logits.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(logits == top, 0, logits - top) / np.float32(temperature)


def penalised(logits: Array, seen: Array, penalty: float) -> Array:
    p = np.float32(penalty)
    return np.where(seen, np.where(logits > 0, logits / p, logits * p), logits)


def ranked(z: Array, k: int) -> tuple[Array, Array]:
    tokens = np.argsort(-z, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(z, tokens, 1).astype(np.float64), tokens


def softmax(z: Array) -> Array:
    power = np.exp(z - z.max(axis=1, keepdims=True))
    return power / power.sum(axis=1, keepdims=True)


def nucleus(probability: Array, p: float) -> Array:
    """What is kept; in these tests no sum lies so close to p that rounding decides."""
    before = np.cumsum(probability, axis=1) - probability
    assert (abs(before - p) > 1e-6).all()
    return before < p


def draw(scores: Array, kept: Array, tokens: Array, seed: Array = SEED) -> Array:
    u = random_uniform(seed, scores.shape).astype(np.float64)
    noisy = np.where(kept, scores - np.log(-np.log(u)), -np.inf)
    best, second = np.sort(noisy, axis=1)[:, :-3:-1].T if scores.shape[1] > 1 else (1, 0)
    assert np.all(best - second > 1e-5 * np.maximum(1, np.abs(best)))
    return tokens[np.arange(len(tokens)), noisy.argmax(axis=1)]


def sample(logits: Array, seen: Array, settings: Settings, k: int, seed: Array = SEED) -> Array:
    z, tokens = ranked(tempered(penalised(logits, seen, settings.penalty), settings.temperature), k)
    largest = np.arange(k) < settings.k
    within = nucleus(softmax(np.where(largest, z, -np.inf)), settings.p)
    return draw(z, largest & within & (np.exp(z) >= np.float32(settings.share)), tokens, seed)


def numbers(settings: Settings) -> dict[str, Any]:
    kinds = {int: np.int64, float: np.float32}
    return {name: kinds[type(value)](value) for name, value in settings._asdict().items()}


def logits_of(rows: int, size: int, kind: str = "plain") -> Array:
    rng = np.random.default_rng([rows, size])
    x = 3 * rng.standard_normal((rows, size)).astype(np.float32)
    if kind == "ties":
        x = np.round(x)
    elif kind == "masked":
        x[rng.random(x.shape) < 0.9] = -np.inf
    elif kind == "huge":
        x *= np.float32(1e37)
    elif kind == "nothing":
        x[...] = -np.inf
    elif kind == "infinite":
        x[:, size // 2] = np.inf
    return x


KINDS = ("plain", "ties", "masked", "huge", "nothing", "infinite")
WAYS = (
    Settings(),
    Settings(penalty=1.3, temperature=0.7, p=0.93, share=0.05),
    Settings(temperature=1e-30),
    Settings(temperature=100.0, p=0.52),
    Settings(penalty=2.0, share=0.3),
    Settings(p=1e-3),
    Settings(share=1.0),
    Settings(k=5, p=0.83),
    Settings(k=1),
)


@pytest.mark.parametrize("kind", KINDS)
def test_the_combined_sampler(program: kina.Module, kind: str) -> None:
    for size in (40, 131, 1000):
        logits = logits_of(9, size, kind)
        seen = np.random.default_rng(size).random(logits.shape) < 0.3
        for way in WAYS:
            for k, sampler in ((1, program.sample_1), (40, program.sample)):
                tokens, after = sampler(logits, seen, numbers(way), SEED)
                assert tokens.tolist() == sample(logits, seen, way, k).tolist(), (way, k)
                wanted = seen.copy()
                wanted[np.arange(9), tokens] = True
                np.testing.assert_array_equal(after, wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_the_single_steps(program: kina.Module, kind: str) -> None:
    logits = logits_of(9, 300, kind)
    seen = np.random.default_rng(1).random(logits.shape) < 0.3
    for t in (np.float32(0.8), np.float32(1e-30)):
        z = tempered(logits, t)
        np.testing.assert_array_equal(program.heated(logits, t), z)
        best, tokens = ranked(z, 40)
        wanted = draw(best, np.full(best.shape, True), tokens)
        np.testing.assert_array_equal(program.sample_top_k(logits, t, SEED), wanted)
        best, tokens = ranked(z, 256)
        chance = np.take_along_axis(softmax(z.astype(np.float64)), tokens, 1)
        for p in (np.float32(0.313), np.float32(0.951)):
            wanted = draw(best, nucleus(chance, p), tokens)
            np.testing.assert_array_equal(program.sample_top_p(logits, t, p, SEED), wanted)
        for share in (np.float32(0.02), np.float32(1)):
            every = np.broadcast_to(np.arange(300), z.shape)
            wanted = draw(z.astype(np.float64), np.exp(z.astype(np.float64)) >= share, every)
            np.testing.assert_array_equal(program.sample_min_p(logits, t, share, SEED), wanted)
    penalty = np.float32(1.7)
    np.testing.assert_array_equal(
        program.penalty(logits, seen, penalty), penalised(logits, seen, penalty)
    )


def test_a_row_is_drawn_alike_alone_and_in_a_batch(program: kina.Module) -> None:
    """On any number of threads: row b has the numbers of offset + 10 * b."""
    logits = logits_of(100, 20011)
    seen = np.zeros(logits.shape, bool)
    way = numbers(Settings(penalty=1.1, temperature=1.5, p=0.95, share=0.001))
    tokens, _ = program.sample(logits, seen, way, SEED)
    assert len(set(tokens.tolist())) > 50
    try:
        for threads in (1, 2, 3, 4):
            kina.set_num_threads(threads)
            for rows in (slice(0, 1), slice(0, 7), slice(41, 42), slice(60, 100)):
                seed = np.add(SEED, [0, 10 * rows.start])
                part, _ = program.sample(logits[rows], seen[rows], way, seed)
                np.testing.assert_array_equal(part, tokens[rows])
    finally:
        kina.set_num_threads(None)


def test_exactly_k_are_drawn_from(program: kina.Module) -> None:
    """Of equal logits the first ones, each as often as chance will have it."""
    logits = np.zeros((4000, 70), np.float32)
    logits[:, 60:] = 1e-20
    tokens, _ = program.sample(logits, logits > 1, numbers(Settings()), SEED)
    counts = np.bincount(tokens, minlength=70)
    assert np.flatnonzero(counts).tolist() == [*range(30), *range(60, 70)]
    assert (abs(counts[counts > 0] - 100) < 50).all()


def test_fewer_tokens_than_k_are_refused(program: kina.Module) -> None:
    logits = np.zeros((2, 39), np.float32)
    with pytest.raises(kina.KinaValueError, match=r"top_k: k=40 is more than axis 1 of \[B, V\]"):
        program.sample(logits, logits > 1, numbers(Settings()), SEED)


def test_stories_are_told_on() -> None:
    """The first of two is what it is alone, and another seed tells another one."""
    generate = [
        sys.executable,
        str(FOLDER.parent / "story" / "tell_on.py"),
        "--size=20",
        "--context=2",
    ]

    def told(*more: str) -> list[str]:
        done = subprocess.run([*generate, *more], capture_output=True, text=True, check=True)
        return done.stdout.removeprefix("- ").split("\n\n- ")

    two, one, other = told(), told("--prompt=The heron "), told("--seed=8")
    assert len(two) == 2
    assert one[0].rstrip() == two[0].rstrip() != other[0].rstrip()
    assert two[0].startswith("The heron ")
