"""A language model over bytes, counted from a text: the host side of `story.kina`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

BYTES = 256
STORY = Path(__file__).with_name("story.txt")
LAST_CHAPTER = "8. After This"
PRIOR_WEIGHT = 4.0
"""How many counts the next shorter context is worth."""


def read_story() -> tuple[bytes, bytes]:
    """The bytes to count, and the held-out last chapter; a paragraph is one line of either."""
    text = re.sub(r"(?<!\n)\n(?!\n)", " ", STORY.read_text(encoding="ascii"))
    start = text.index(LAST_CHAPTER)
    return text[:start].encode(), text[start:].encode()


@dataclass(frozen=True)
class ByteModel:
    """`logits`, F32 [rows, 256], of the next byte after each context that `rows` numbers.

    The first 256 rows are the contexts of one byte; a bigram model has no more.
    """

    logits: NDArray[np.float32]
    rows: dict[bytes, int]
    context: int = 1
    """The size of the longest context, in bytes."""

    def row(self, history: bytes) -> int:
        """The row of the longest known context that `history` (not empty) ends with."""
        context = history[-self.context :]
        while context not in self.rows:
            context = context[1:]
        return self.rows[context]


def bigram(logits: NDArray[np.float32]) -> ByteModel:
    """The bigram model with these logits, F32 [256, 256]."""
    return ByteModel(logits, {bytes([byte]): byte for byte in range(BYTES)})


def unigram(text: bytes) -> NDArray[np.float64]:
    """How often each byte occurs in `text`, as probabilities [256], none of them zero."""
    counts = np.bincount(np.frombuffer(text, np.uint8), minlength=BYTES) + 1 / BYTES
    return counts / counts.sum()


def count(text: bytes, context: int = 1) -> ByteModel:
    """Count what follows each context of 1 to `context` bytes; 1 makes a bigram model.

    A logit is log(count + weight * probability after the next shorter context): nothing has
    probability 0, and a context that was seen once is not believed blindly.
    """
    scores = {b"": unigram(text)}
    for size in range(1, context + 1):
        for seen, counts in _counts(text, size).items():
            shorter = scores[seen[1:]]
            scores[seen] = counts + PRIOR_WEIGHT * shorter / shorter.sum()
    del scores[b""]
    logits = np.log(np.stack(list(scores.values()))).astype(np.float32)
    return ByteModel(logits, {seen: row for row, seen in enumerate(scores)}, context)


def _counts(text: bytes, size: int) -> dict[bytes, NDArray[np.float64]]:
    """How often each byte follows each context of `size` bytes; of size 1, all 256 of them."""
    single = range(BYTES) if size == 1 else ()
    seen = {bytes([byte]): np.zeros(BYTES) for byte in single}
    for end in range(size, len(text)):
        row = seen.setdefault(text[end - size : end], np.zeros(BYTES))
        row[text[end]] += 1
    return seen
