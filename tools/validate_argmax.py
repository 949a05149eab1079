"""Validate greedy decoding (seed 17): `storylm0_greedy.kina` as a library, against NumPy's argmax.

The logits are patterned finite F32, with ties in every place; the lowest index must win.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import numpy as np
from numpy.typing import NDArray
from validation import Library, built, compared_with, require, run, torch_or_none

SHAPE = (1, 4, 8)
ROUNDS = 256
TINY, HUGE = np.finfo(np.float32).smallest_subnormal, np.finfo(np.float32).max


def patterns() -> Iterator[NDArray[np.float32]]:
    """Fibers [8] with known answers: every pair of tied maxima, and the ends of F32."""
    for first in range(8):
        for second in range(8):
            fiber = np.linspace(-1, 1, 8, dtype=np.float32)
            fiber[[first, second]] = 2
            yield fiber
    for pair in ((0.0, -0.0), (-0.0, 0.0), (0.0, TINY), (-TINY, 0.0), (-HUGE, HUGE), (1, 1)):
        yield np.resize(np.array(pair, np.float32), 8)
    yield np.full(8, -HUGE, np.float32)
    yield np.arange(8, dtype=np.float32)
    yield -np.arange(8, dtype=np.float32)


def inputs(seed: int) -> Iterator[NDArray[np.float32]]:
    """Logits of the program's shape: the patterns, then small integers, of which many tie."""
    fibers = list(patterns())
    fibers += fibers[: -len(fibers) % 4]
    for start in range(0, len(fibers), 4):
        yield np.stack(fibers[start : start + 4]).reshape(SHAPE)
    random = np.random.RandomState(seed)
    for _ in range(ROUNDS):
        yield random.randint(-3, 4, SHAPE).astype(np.float32)


def check(library: Library, logits: NDArray[np.float32], torch: ModuleType | None) -> None:
    """Compare one call with NumPy, and with PyTorch where it is installed."""
    tokens, before = np.full(SHAPE[:2], -1, np.int64), logits.copy()
    library.call("greedy", logits, tokens)
    expected = np.argmax(logits, axis=2)
    require(np.array_equal(tokens, expected), "tokens", logits, tokens, "NumPy:", expected)
    require(logits.tobytes() == before.tobytes(), "an input was written to", before, logits)
    if torch is not None:
        chosen = torch.argmax(torch.from_numpy(logits), dim=2).numpy()
        require(np.array_equal(tokens, chosen), "tokens", logits, tokens, "PyTorch:", chosen)


def validate(seed: int) -> str:
    """Run every input; returns the summary line."""
    torch = torch_or_none()
    sites = ties = 0
    with built("storylm0_greedy") as library:
        for logits in inputs(seed):
            check(library, logits, torch)
            sites += SHAPE[0] * SHAPE[1]
            ties += int(np.sum(np.sum(logits == logits.max(axis=2, keepdims=True), axis=2) > 1))
    return f"argmax: {sites} sites equal, {ties} of them ties; {compared_with(torch)}"


if __name__ == "__main__":
    run(__doc__, validate)
