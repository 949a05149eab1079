"""The model of the page `examples/web`: weights of a byte each, and what it writes, in Python."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from parameters import HERE, nested
from tensor_file import Tensors, load

import kina

PAGE = HERE / "page.kina"
WEIGHTS = HERE.parent / "web" / "weights.safetensors"
CAPACITY = 512
"""Tokens that the cache has room for."""
NUMBERS = 64
"""Random numbers of a token, by fours."""
MATRICES = {
    "embedding": "embedding",
    "head": "head",
    **{name: f"layers.{name}" for name in ("qkv", "out", "up", "down")},
}
VECTORS = {
    "norm": "norm",
    **{name: f"layers.{name}" for name in ("attention_norm", "mlp_norm")},
}


def packed(tensors: Tensors, shapes: dict[str, tuple[int, ...]]) -> Tensors:
    """Trained parameters as they are sent; `shapes` are those of the record `Packed`."""
    made: Tensors = {name: tensors[whole] for name, whole in VECTORS.items()}
    for name, whole in MATRICES.items():
        matrix = tensors[whole].reshape(shapes[f"{name}.bytes"])
        largest = np.abs(matrix).max(axis=0)
        steps = np.where(largest == 0, 1, largest / np.float32(127)).astype(np.float32)
        made[f"{name}.bytes"] = np.rint(matrix / steps).astype(np.int8)
        made[f"{name}.steps"] = steps
    return made


class Writer:
    """The model with these weights, which goes on with a text as the page does."""

    def __init__(self, weights: Path = WEIGHTS) -> None:
        program = kina.load(PAGE)
        tensors, _ = load(weights)
        self._next: Any = program.next
        self._model = program.unpack(nested(tensors))

    def write(self, prompt: bytes, size: int, seed: int, temperature: float) -> Iterator[int]:
        """The `size` tokens after a prompt, each drawn from those before."""
        if not prompt or len(prompt) + size > CAPACITY:
            raise ValueError(f"expected 1 byte at least, and {CAPACITY} at most with what follows")
        shape = (2, 1, 4, CAPACITY, 16)
        cache = {name: np.zeros(shape, np.float32) for name in ("keys", "values")}
        heat = np.float32(temperature)

        def read(token: int, at: int, number: int) -> int:
            words = np.array([[token]]), np.array(at), np.array([seed, number])
            _, chosen = self._next(self._model, cache, *words, heat, out=(cache, None))
            return int(chosen[0, 0])

        for at, token in enumerate(prompt[:-1]):
            read(token, at, 0)
        token = prompt[-1]
        for number in range(size):
            token = read(token, len(prompt) + number - 1, number * NUMBERS)
            yield token
