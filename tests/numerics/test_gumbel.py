"""examples/sampling/gumbel.kina against NumPy, and against the distribution that it draws from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kina
from helpers.philox import random_uniform

PROGRAM = Path(__file__).resolve().parents[2] / "examples" / "sampling" / "gumbel.kina"


@pytest.fixture(scope="module")
def program() -> kina.Module:
    return kina.load(PROGRAM)


@pytest.mark.parametrize("shape", [(1, 1), (1, 5), (7, 64), (3, 1000)], ids=str)
@pytest.mark.parametrize("temperature", [0.25, 1.0, 3.0])
def test_tokens_are_those_of_numpy(
    program: kina.Module, shape: tuple[int, int], temperature: float
) -> None:
    logits = np.random.default_rng(8).standard_normal(shape).astype(np.float32)
    seed = np.array([20, 26], np.int64)
    noise = -np.log(-np.log(random_uniform(seed, shape).astype(np.float64)))
    wanted = (logits / temperature + noise).argmax(axis=1)
    np.testing.assert_array_equal(program.gumbel(logits, np.float32(temperature), seed), wanted)


def test_a_row_gets_the_same_token_in_a_batch_of_any_size(program: kina.Module) -> None:
    """Its numbers depend on the seed and on the row's number alone."""
    logits = np.random.default_rng(9).standard_normal((70, 501)).astype(np.float32)
    one, seed = np.float32(1), np.array([3, 4], np.int64)
    tokens = program.gumbel(logits, one, seed)
    for rows in (1, 2, 8, 69):
        np.testing.assert_array_equal(program.gumbel(logits[:rows], one, seed), tokens[:rows])


def test_tokens_are_as_frequent_as_the_softmax_says(program: kina.Module) -> None:
    """Within five deviations: the seed is fixed, so the counts are as well."""
    count, logits = 40000, np.float32([0, 1, -2, 2, 0.5])
    rows = np.broadcast_to(logits, (count, 5)).copy()
    tokens = program.gumbel(rows, np.float32(0.7), np.array([5, 0]))
    wanted = np.exp(logits / 0.7) / np.exp(logits / 0.7).sum()
    found = np.bincount(tokens, minlength=5) / count
    assert (abs(found - wanted) < 5 * np.sqrt(wanted * (1 - wanted) / count)).all()


def test_a_masked_token_is_never_drawn(program: kina.Module) -> None:
    logits = np.full((1000, 4), -np.inf, np.float32)
    logits[:, 2] = -1e30
    tokens = program.gumbel(logits, np.float32(1), np.array([1, 1]))
    assert set(tokens.tolist()) == {2}
