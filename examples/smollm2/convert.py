"""Weights as the programs take them, made from the published file once.

They are kept as safetensors in the user's cache folder, one file for each variant.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from published import Published
from weights import DTYPES, Tensor, WeightsError, write

Array = NDArray[Any]

LAYERS, DIM, HIDDEN, VOCABULARY = 30, 576, 1536, 49152
MATRICES = {
    "qkv": (("attn_q", "attn_k", "attn_v"), 960, DIM),
    "o": (("attn_output",), DIM, 576),
    "gate_up": (("ffn_gate", "ffn_up"), 2 * HIDDEN, DIM),
    "down": (("ffn_down",), DIM, HIDDEN),
}
"""The matrices of the file that a field of a layer is made of, and its outputs and inputs."""
NORMS = {"attention_norm": "attn_norm", "mlp_norm": "ffn_norm"}
TURNED = ("attn_q", "attn_k")
"""What RoPE turns: a pair is side by side in the file, and half a head apart in the programs."""
VERSION = "2"
"""Of what is written; another one is written anew."""


def folder() -> Path:
    """Where converted weights are kept."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "kina" / "smollm2"


def weights_file(variant: str) -> Path:
    """The weights of a variant, once they have been converted."""
    return folder() / f"SmolLM2-135M-Instruct.{variant}.{VERSION}.safetensors"


def tokenizer_file() -> Path:
    """The tokenizer, once it has been converted."""
    return folder() / f"SmolLM2-135M-Instruct.{VERSION}.tokenizer.json"


def halves(matrix: Array) -> Array:
    """Rows 2i and 2i + 1 of each head of 64 become rows i and 32 + i."""
    rows, columns = matrix.shape
    return matrix.reshape(-1, 32, 2, columns).swapaxes(1, 2).reshape(rows, columns)


def quantised(matrix: Array, axis: int) -> tuple[Array, Array]:
    """A matrix in 8 bits, and the scales of what is left when `axis` is gone."""
    scale = np.maximum(np.abs(matrix).max(axis=axis, keepdims=True) / np.float32(127), 1e-30)
    return np.rint(matrix / scale).astype(np.int8), scale.squeeze(axis).astype(np.float32)


class Model:
    """The published file as tensors of the programs."""

    def __init__(self, published: Published) -> None:
        self._published = published

    def _matrices(self, field: str) -> Array:
        """A field of all layers, [layers, inputs, outputs]."""
        names = MATRICES[field][0]
        return np.stack(
            [np.concatenate([self._rows(i, n) for n in names]).T for i in range(LAYERS)]
        )

    def _rows(self, layer: int, name: str) -> Array:
        """A matrix of a layer, [outputs, inputs]."""
        matrix = self._published.tensor(f"blk.{layer}.{name}.weight")
        return halves(matrix) if name in TURNED else matrix

    def _norms(self, field: str) -> Array:
        found = (self._published.tensor(f"blk.{i}.{NORMS[field]}.weight") for i in range(LAYERS))
        return np.stack(list(found))

    def tensors(self, variant: str) -> list[Tensor]:
        """Every tensor of a variant."""
        matrix = _quantised if variant == "i8" else _converted(variant)
        embedding = ("token_embd.weight", (VOCABULARY, DIM))
        found = matrix("embedding", embedding[1], 1, lambda: self._published.tensor(embedding[0]))
        for field, (_, outputs, inputs) in MATRICES.items():
            shape = (LAYERS, inputs, outputs)
            found += matrix(f"layers.{field}", shape, 1, partial(self._matrices, field))
        f32 = DTYPES["F32"]
        for field in NORMS:
            make = partial(self._norms, field)
            found.append(Tensor(f"layers.{field}", f32, (LAYERS, DIM), make))
        norm = "output_norm.weight"
        return [*found, Tensor("norm", f32, (DIM,), lambda: self._published.tensor(norm))]


Make = Callable[[], Array]
Shape = tuple[int, ...]


def _converted(variant: str) -> Callable[[str, Shape, int, Make], list[Tensor]]:
    dtype = DTYPES[variant.upper()]

    def matrix(name: str, shape: Shape, axis: int, make: Make) -> list[Tensor]:
        return [Tensor(name, dtype, shape, lambda: make().astype(dtype))]

    return matrix


def _quantised(name: str, shape: Shape, axis: int, make: Make) -> list[Tensor]:
    others = shape[:axis] + shape[axis + 1 :]
    made: list[tuple[Array, Array]] = []

    def values() -> Array:
        made.append(quantised(make(), axis))
        return made[0][0]

    return [
        Tensor(f"{name}.values", DTYPES["I8"], shape, values),
        Tensor(f"{name}.scale", DTYPES["F32"], others, lambda: made.pop()[1]),
    ]


def convert(source: Path, variant: str) -> Iterator[tuple[int, int]]:
    """Write the tokenizer and a variant's weights; gives bytes done and bytes in all on its way.

    A `WeightsError` where they cannot be kept; then what was there is as it was.
    """
    try:
        folder().mkdir(parents=True, exist_ok=True)
        published = Published(source)
        if not tokenizer_file().exists():
            _write_tokenizer(published)
    except OSError as error:
        raise WeightsError(
            f"{folder()}: {error.strerror}; converted weights are kept there, or where "
            "XDG_CACHE_HOME says"
        ) from error
    tensors: Sequence[Tensor] = Model(published).tensors(variant)
    total, done = sum(tensor.size for tensor in tensors), 0
    yield done, total
    for size in write(weights_file(variant), tensors, {"format": "kina", "variant": variant}):
        done += size
        yield done, total


def _write_tokenizer(published: Published) -> None:
    part = tokenizer_file().with_suffix(f".{os.getpid()}.part")
    try:
        published.save_tokenizer(part)
        part.replace(tokenizer_file())
    finally:
        part.unlink(missing_ok=True)
