"""SmolLM2 run from Python: a program, its weights, and the caches of one conversation."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from weights import read, record

import kina

Array = NDArray[Any]

HERE = Path(__file__).parent
VARIANTS = ("f32", "bf16", "i8")
HEADS, WIDTH = 3, 64
"""Heads of keys and values, and the columns of each."""
BASE = 100_000.0
"""Of the angles that RoPE turns by."""
EOS = 2
"""The token that ends a turn."""
BATCH = 256
"""The most tokens that one call takes."""
BLOCKS = 10
"""Of random numbers, for a token that is drawn."""


class FullError(ValueError):
    """More tokens than the caches have room for."""


def angles(positions: int) -> tuple[Array, Array]:
    """Cosine and sine of each position and pair of columns, [positions, 32]."""
    half = np.arange(WIDTH // 2)
    turned = np.arange(positions)[:, None] * BASE ** (-2 * half / WIDTH)
    return np.cos(turned).astype(np.float32), np.sin(turned).astype(np.float32)


class SmolLM2:
    """A model and what it has seen so far."""

    def __init__(self, program: kina.Module, weights: Path, capacity: int = 2048) -> None:
        """A `WeightsError` if the file is not what the program takes."""
        self._program = program
        self._weights = record(weights, read(weights), program.decode)
        layers = self._weights["layers"]["attention_norm"].shape[0]
        self.caches = {
            "keys": np.zeros((layers, HEADS, WIDTH, capacity), np.float32),
            "values": np.zeros((layers, HEADS, capacity, WIDTH), np.float32),
        }
        self._cosine, self._sine = angles(capacity)
        self.capacity = capacity
        self.seen = 0
        """How many tokens are in the caches; a smaller number forgets the last ones."""

    def _call(self, function: kina.Function, ids: Sequence[int]) -> Array:
        end = self.seen + len(ids)
        if end > self.capacity:
            raise FullError(
                f"{len(ids)} tokens after {self.seen}: the caches have room for {self.capacity}"
            )
        angles = {"cosine": self._cosine[:end], "sine": self._sine[:end]}
        tokens = np.array(ids, np.int64)
        logits, _ = function(tokens, self._weights, self.caches, angles, out=(None, self.caches))
        self.seen = end
        return logits

    def score(self, ids: Sequence[int]) -> Array:
        """The logits after each token, [tokens, vocabulary]."""
        return self._call(self._program.score, ids)

    def feed(self, ids: Sequence[int]) -> Array:
        """The logits after the last token, [1, vocabulary]."""
        if not ids:
            raise ValueError("expected at least one token")
        if self.seen + len(ids) > self.capacity:
            self._call(self._program.prefill, ids)
        if len(ids) == 1:
            return self._call(self._program.decode, ids)
        parts = [ids[start : start + BATCH] for start in range(0, len(ids), BATCH)]
        return [self._call(self._program.prefill, part) for part in parts][-1]


class Greedy:
    """The most probable token; of several, the one with the lowest number."""

    def begin(self) -> None:
        """Nothing: what was chosen before does not count."""

    def __call__(self, logits: Array) -> int:
        """One token."""
        return int(logits[0].argmax())


@dataclass(frozen=True)
class Sampling:
    """How tokens are drawn; the same seed gives the same ones."""

    temperature: float = 0.4
    top_k: int = 40
    """Of so many tokens, 40 at most."""
    top_p: float = 0.9
    """Of the most probable ones that have this probability together; 1: of all."""
    min_p: float = 0.05
    """Of those that are so many times as probable as the most probable one."""
    repetition_penalty: float = 1.1
    """1: what the answer has said already is as likely as before."""
    seed: int = 0


class Sampler:
    """A token drawn by `sampling/sampler.kina`."""

    def __init__(self, how: Sampling) -> None:
        self._sample = kina.load(HERE.parent / "sampling" / "sampler.kina").sample
        self._settings = {
            "penalty": np.float32(how.repetition_penalty),
            "temperature": np.float32(how.temperature),
            "k": np.int64(how.top_k),
            # Rounded, the probabilities before a token may add up to 1.
            "p": np.float32(how.top_p if how.top_p < 1 else 2),
            "share": np.float32(how.min_p),
        }
        self._key, self._offset = how.seed, 0
        self._seen: Array | None = None

    def begin(self) -> None:
        """An answer: nothing of it has been said."""
        self._seen = None

    def __call__(self, logits: Array) -> int:
        """One token."""
        seen = np.zeros(logits.shape, np.bool_) if self._seen is None else self._seen
        seed = np.array([self._key, self._offset])
        self._offset += BLOCKS
        tokens, self._seen = self._sample(logits, seen, self._settings, seed)
        return int(tokens[0])


def generate(
    model: SmolLM2, ids: Sequence[int], choose: Greedy | Sampler, limit: int, *, stop: bool = True
) -> Iterator[int]:
    """What follows: up to `limit` tokens, until the turn ends or the caches are full."""
    logits = model.feed(ids)
    choose.begin()
    for left in range(limit - 1, -1, -1):
        token = choose(logits)
        yield token
        if (stop and token == EOS) or left == 0 or model.seen == model.capacity:
            return
        logits = model.feed([token])


def compile_apart(variant: str) -> None:
    """Compile a variant, if it is not yet, in a process that ends: compilers take memory."""
    words = ("import sys, kina; kina.load(sys.argv[1])", str(HERE / f"{variant}.kina"))
    quiet = subprocess.DEVNULL  # whatever is wrong, `load` says it
    subprocess.run([sys.executable, "-c", *words], check=False, stdout=quiet, stderr=quiet)


def load(variant: str, weights: Path, capacity: int = 2048) -> SmolLM2:
    """A variant, compiled if it is not yet."""
    return SmolLM2(kina.load(HERE / f"{variant}.kina"), weights, capacity)
