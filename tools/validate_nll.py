"""Validate the loss (seed 9): `storylm0_nll.kina` as a library, against float64.

Patterned finite F32 logits, from 0 to near the largest F32, and random targets; each loss within
4 ulp + 1e-6 of -log_softmax(logits)[target] in float64. Every index out of range must give a
non-zero status, with the inputs untouched and the next good call right.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import numpy as np
from numpy.typing import NDArray
from validation import ULP, Library, built, compared_with, require, run, torch_or_none

SHAPE = (1, 4, 8)
ROUNDS = 128
ABSOLUTE = 1e-6
BAD_INDICES = (-1, 8, 2**32 + 1, 2**63 - 1, -(2**63))


def inputs(seed: int) -> Iterator[tuple[NDArray[np.float32], NDArray[np.int64]]]:
    """Logits at several scales, up to where exp(logits) alone would overflow, and targets."""
    random = np.random.RandomState(seed)
    for scale in (0.0, 0.125, 1.0, 30.0, 1e4, 1e36):
        for _ in range(ROUNDS):
            logits = (random.randint(-32, 33, SHAPE) * scale).astype(np.float32)
            yield logits, random.randint(0, SHAPE[2], SHAPE[:2])


def reference(logits: NDArray[np.float32], targets: NDArray[np.int64]) -> NDArray[np.float64]:
    """The loss [1, 4] in float64."""
    shifted = logits.astype(np.float64) - logits.max(axis=2, keepdims=True)
    logp = shifted - np.log(np.exp(shifted).sum(axis=2, keepdims=True))
    return -np.take_along_axis(logp, targets[..., None], 2)[..., 0]


def torch_reference(
    torch: ModuleType, logits: NDArray[np.float32], targets: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The loss by PyTorch, in float64."""
    logp = torch.from_numpy(logits).double().log_softmax(2)
    return -torch.gather(logp, 2, torch.from_numpy(targets)[..., None])[..., 0].numpy()


def check(
    library: Library,
    logits: NDArray[np.float32],
    targets: NDArray[np.int64],
    torch: ModuleType | None,
) -> float:
    """Compare one call; returns the largest distance, as a fraction of what is allowed."""
    loss = np.full(SHAPE[:2], np.nan, np.float32)
    library.call("nll", logits, targets, loss)
    references = {"NumPy": reference(logits, targets)}
    if torch is not None:
        references["PyTorch"] = torch_reference(torch, logits, targets)
    worst = 0.0
    for name, expected in references.items():
        used = np.abs(loss - expected) / (4 * ULP * np.abs(expected) + ABSOLUTE)
        require(bool(np.all(used <= 1)), "losses", logits, targets, loss, f"{name}:", expected)
        worst = max(worst, float(used.max()))
    return worst


def check_bad_index(library: Library, position: int, index: int) -> None:
    """Require a status above 0 and untouched inputs for one index out of range."""
    logits = np.arange(32, dtype=np.float32).reshape(SHAPE)
    targets = np.zeros(SHAPE[:2], np.int64)
    targets[0, position] = index
    before = logits.tobytes(), targets.tobytes()
    status = library.status("nll", logits, targets, np.zeros(SHAPE[:2], np.float32))
    require(status > 0, f"status {status} for target {index}, expected a failed check")
    unchanged = (logits.tobytes(), targets.tobytes()) == before
    require(unchanged, f"a call that failed for target {index} wrote to its inputs")


def validate(seed: int) -> str:
    """Run every input and every bad index; returns the summary line."""
    torch = torch_or_none()
    sites, worst = 0, 0.0
    with built("storylm0_nll") as library:
        for logits, targets in inputs(seed):
            worst = max(worst, check(library, logits, targets, torch))
            sites += SHAPE[0] * SHAPE[1]
        for position in range(SHAPE[1]):
            for index in BAD_INDICES:
                check_bad_index(library, position, index)
                check(library, np.ones(SHAPE, np.float32), np.ones(SHAPE[:2], np.int64), torch)
    return (
        f"nll: {sites} losses right, the worst {worst:.0%} of the allowed distance away, "
        f"{SHAPE[1] * len(BAD_INDICES)} bad indices refused; {compared_with(torch)}"
    )


if __name__ == "__main__":
    run(__doc__, validate)
