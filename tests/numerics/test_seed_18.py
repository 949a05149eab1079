"""The tests that seed 18 lists (section 7): seeded sampling as Gumbel-max."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

import kina
from helpers.tools import EXAMPLES, lowered

SAMPLE = EXAMPLES / "storylm0_sample.kina"


def scores_f64(logits: np.ndarray, u: np.ndarray, temperature: float) -> np.ndarray:
    """Seed 18, section 4, in float64 from the F32 inputs."""
    return logits.astype(np.float64) / np.float64(np.float32(temperature)) - np.log(
        -np.log(u.astype(np.float64))
    )


def test_storylm0_sample() -> None:
    emitted = lowered(SAMPLE)
    assert "-> tensor<1x4xi64>" in emitted
    assert "linalg.index" in emitted


def test_the_sample_has_the_best_score() -> None:
    """Fixed RandomState uniforms in (ε, 1-ε) and T = 0.8; right if within rounding of the best."""
    module = kina.load(SAMPLE)
    state = np.random.RandomState(18)
    temperature = np.full((1, 1), 0.8, np.float32)
    for _ in range(200):
        logits = state.normal(0, 3, (1, 4, 8)).astype(np.float32)
        u = state.uniform(1e-6, 1 - 1e-6, (1, 4, 8)).astype(np.float32)
        tokens = module.sample(logits, u, temperature)
        scores = scores_f64(logits, u, 0.8)
        chosen = np.take_along_axis(scores, tokens[..., None], 2)[..., 0]
        best = scores.max(2)
        np.testing.assert_array_less(best - chosen, 1e-4 * (1 + np.abs(best)))


def test_the_samples_follow_the_softmax() -> None:
    """Counts of many draws against softmax(logits / T): chi-square with 7 degrees of freedom."""
    module = kina.load(SAMPLE)
    state = np.random.RandomState(3)
    logits = np.tile(np.linspace(-1, 1, 8, dtype=np.float32), (1, 4, 1))
    temperature = np.full((1, 1), 0.8, np.float32)
    counts = np.zeros(8)
    for _ in range(1000):
        u = state.uniform(1e-6, 1 - 1e-6, (1, 4, 8)).astype(np.float32)
        counts += np.bincount(module.sample(logits, u, temperature)[0], minlength=8)
    weights = np.exp(logits[0, 0].astype(np.float64) / 0.8)
    wanted = counts.sum() * weights / weights.sum()
    assert ((counts - wanted) ** 2 / wanted).sum() < 24.3  # beyond it 1 in 1000 by chance


def test_equal_draws_give_equal_tokens() -> None:
    module = kina.load(SAMPLE)
    logits = np.random.RandomState(1).normal(size=(1, 4, 8)).astype(np.float32)
    u = np.random.RandomState(2).uniform(0.01, 0.99, (1, 4, 8)).astype(np.float32)
    temperature = np.full((1, 1), 0.8, np.float32)
    first = module.sample(logits, u, temperature)
    np.testing.assert_array_equal(first, module.sample(logits, u, temperature))


def test_validate_sample() -> None:
    command = [sys.executable, "-W", "error", str(EXAMPLES.parent / "tools" / "validate_sample.py")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
