"""Validate seeded sampling (seed 18): `storylm0_sample.kina` as a library, against the algebra.

Patterned finite F32 logits, uniforms in (ε, 1-ε) from a seeded RandomState, T = 0.8. The scores
are logits / T - log(-log(u)), computed here in float64. A token is right if it is their argmax, or
if its score is so close to the best that F32 arithmetic may take it for the best:
logarithms within 1 ulp and the other operations rounded once move a score by at most
ulp * (1 + |logits / T| + |gumbel| + |score|).
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
from numpy.typing import NDArray
from validation import ULP, built, compared_with, require, run, torch_or_none

SHAPE = (1, 4, 8)
ROUNDS = 512
EPSILON = 1e-6
TEMPERATURE = np.full((1, 1), 0.8, np.float32)


def inputs(random: np.random.RandomState) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Patterned logits in -4 .. 4, by eighths so that many are equal, and uniforms."""
    logits = (random.randint(-32, 33, SHAPE) / 8).astype(np.float32)
    u = random.uniform(EPSILON, 1 - EPSILON, SHAPE).astype(np.float32)
    return logits, u


def scores_and_bounds(
    logits: NDArray[np.float32], u: NDArray[np.float32]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The scores in float64, and how far F32 arithmetic may be from each."""
    scaled = logits.astype(np.float64) / TEMPERATURE.astype(np.float64)
    gumbel = -np.log(-np.log(u.astype(np.float64)))
    scores = scaled + gumbel
    return scores, ULP * (1 + np.abs(scaled) + np.abs(gumbel) + np.abs(scores))


def torch_scores(
    torch: ModuleType, logits: NDArray[np.float32], u: NDArray[np.float32]
) -> NDArray[np.float64]:
    """The scores by PyTorch, in float64."""
    heat = torch.from_numpy(TEMPERATURE).double()
    uniform = torch.from_numpy(u).double()
    return (torch.from_numpy(logits).double() / heat - torch.log(-torch.log(uniform))).numpy()


def check_tokens(
    tokens: NDArray[np.int64], scores: NDArray[np.float64], bounds: NDArray[np.float64], by: str
) -> None:
    """Require that each token's score is the best of its site, within the bounds."""
    require(bool(np.all((tokens >= 0) & (tokens < SHAPE[2]))), "a token out of range", tokens)
    best, chosen = np.argmax(scores, axis=2)[..., None], tokens[..., None]
    missing = np.take_along_axis(scores, best, 2) - np.take_along_axis(scores, chosen, 2)
    allowed = np.take_along_axis(bounds, best, 2) + np.take_along_axis(bounds, chosen, 2)
    require(bool(np.all(missing <= allowed)), f"tokens, by {by}", tokens, best[..., 0], scores)


def validate(seed: int) -> str:
    """Run every round; returns the summary line."""
    torch = torch_or_none()
    random = np.random.RandomState(seed)
    exact = 0
    with built("storylm0_sample") as library:
        for _ in range(ROUNDS):
            logits, u = inputs(random)
            tokens = np.full(SHAPE[:2], -1, np.int64)
            library.call("sample", logits, u, TEMPERATURE, tokens)
            scores, bounds = scores_and_bounds(logits, u)
            check_tokens(tokens, scores, bounds, "NumPy")
            exact += int(np.sum(tokens == np.argmax(scores, axis=2)))
            if torch is not None:
                check_tokens(tokens, torch_scores(torch, logits, u), bounds, "PyTorch")
    sites = ROUNDS * SHAPE[0] * SHAPE[1]
    return (
        f"sample: {sites} sites right at T = 0.8, {sites - exact} of them only within F32 "
        f"rounding; {compared_with(torch)}"
    )


if __name__ == "__main__":
    run(__doc__, validate)
