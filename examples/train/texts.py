"""The texts: two stories, of which the last chapters are held out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).parent
STORIES = (HERE.parent / "story" / "story.txt", HERE / "hill.txt")
CONTEXT = 2
"""How many bytes the model sees."""


@dataclass(frozen=True)
class Positions:
    """Bytes to predict, I64 [N]: each with the byte before it and the byte before that."""

    newer: NDArray[np.int64]
    older: NDArray[np.int64]
    targets: NDArray[np.int64]

    @classmethod
    def of(cls, text: bytes) -> Positions:
        """Every position of `text` that has two bytes before it."""
        codes = np.frombuffer(text, np.uint8).astype(np.int64)
        return cls(codes[1:-1], codes[:-CONTEXT], codes[CONTEXT:])

    def __len__(self) -> int:
        return len(self.targets)

    def at(self, chosen: NDArray[np.int64]) -> Positions:
        """The positions of these numbers, in this order."""
        return Positions(self.newer[chosen], self.older[chosen], self.targets[chosen])

    @property
    def arrays(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """The arguments `newer`, `older` and `targets` of the programs."""
        return self.newer, self.older, self.targets


def read() -> tuple[bytes, bytes]:
    """The bytes to train on, and the held-out ones; a paragraph is one line of either."""
    split = [_split(path.read_text(encoding="ascii")) for path in STORIES]
    train, held_out = zip(*split, strict=True)
    return "".join(train).encode(), "".join(held_out).encode()


def _split(story: str) -> tuple[str, str]:
    """A story up to its last chapter, and that chapter."""
    text = re.sub(r"(?<!\n)\n(?!\n)", " ", story.strip()) + "\n\n"
    start = max(heading.start() for heading in re.finditer(r"^\d+\. ", text, re.MULTILINE))
    return text[:start], text[start:]
