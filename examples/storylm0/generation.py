"""A trained model that goes on with a text: a prompt, then one token after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from parameters import Array, Nested, nested, read_weights, shapes

import kina

BYTES = 256
BLOCK = 4
"""Random numbers come in blocks of so many."""


@dataclass(frozen=True)
class Sampling:
    """How a token is drawn from the logits; with the weights and the prompt it settles the text."""

    temperature: float = 0.8
    seed: int = 7


class Generator:
    """The programs of `storylm0_step.kina`, weights, and a cache for `capacity` tokens.

    Raises `BadFile` for a file that does not hold the weights of this model.
    """

    def __init__(self, program: kina.Module, weights: Path, capacity: int) -> None:
        self._program, self._capacity = program, capacity
        function = program.step
        self._parameters = nested(read_weights(weights, shapes(function, "p")))
        self._cache: Nested = {
            parameter.name.removeprefix("cache."): np.zeros(
                [capacity if dim == "S" else int(dim) for dim in parameter.type.dims], np.float32
            )
            for parameter in function.type.parameters
            if parameter.name.startswith("cache.")
        }

    def greedy(self, prompt: bytes, size: int) -> list[int]:
        """The `size` most likely tokens after a prompt."""
        return self._generate(prompt, size, lambda logits, _: self._program.greedy(logits))

    def sampled(self, prompt: bytes, size: int, how: Sampling) -> list[int]:
        """`size` tokens drawn one after the other."""
        temperature = np.full((1, 1), how.temperature, np.float32)

        def draw(logits: Array, number: int) -> Array:
            seed = np.array([how.seed, number * BYTES // BLOCK])
            return self._program.sample(logits, self._program.uniform(seed), temperature)

        return self._generate(prompt, size, draw)

    def _generate(self, prompt: bytes, size: int, choose: Callable[[Array, int], Any]) -> list[int]:
        if not prompt:
            raise ValueError("the prompt is empty, expected at least one byte")
        if len(prompt) + size > self._capacity:
            raise ValueError(
                f"a prompt of {len(prompt)} bytes and {size} more do not fit into a cache of "
                f"{self._capacity} tokens"
            )
        ids = np.frombuffer(prompt, np.uint8).astype(np.int64)[None]
        _, logits = self._prefill(ids, 0)
        chosen: list[int] = []
        token = choose(logits[:, -1:], 0)
        for number in range(1, size + 1):
            chosen.append(int(token[0, 0]))
            if number < size:
                logits = self._step(token, len(prompt) + number - 1)
                token = choose(logits, number)
        return chosen

    def _prefill(self, ids: Array, at: int) -> tuple[Any, Array]:
        out = (self._cache, None)
        return self._program.prefill(self._parameters, self._cache, ids, np.int64(at), out=out)

    def _step(self, token: Array, at: int) -> Array:
        out = (self._cache, None)
        _, logits = self._program.step(self._parameters, self._cache, token, np.int64(at), out=out)
        return cast(Array, logits)
