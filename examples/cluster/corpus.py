"""A corpus in files, its shards, of which only blocks are ever in memory."""

from __future__ import annotations

import resource
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

BLOCK = 2 << 20
"""Bytes that one task reads."""


@dataclass(frozen=True)
class Block:
    """The bytes of a shard from `start` to `stop`, each of which has one before it."""

    shard: str
    start: int
    stop: int

    @property
    def size(self) -> int:
        """How many bytes are scored."""
        return self.stop - self.start

    def pairs(self) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """The byte before each, and the bytes: views of the mapped file, nothing is read yet."""
        text = np.memmap(self.shard, np.int8, mode="r")
        return text[self.start - 1 : self.stop - 1], text[self.start : self.stop]


def blocks(shards: Sequence[Path], size: int = BLOCK) -> Iterator[Block]:
    """The blocks of all shards. The first byte of a shard has none before it and is not scored."""
    for shard in shards:
        length = shard.stat().st_size
        for start in range(1, length, size):
            yield Block(str(shard.resolve()), start, min(start + size, length))


def write_shards(folder: Path, text: bytes, size: int, shard: int) -> None:
    """Fill `folder` with a text over and over, up to `size` bytes in files of `shard` bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, start in enumerate(range(0, size, shard)):
        length = min(shard, size - start)
        with (folder / f"{number:04}.bytes").open("wb") as file:
            for at in range(0, length, BLOCK):
                first = (start + at) % len(text)
                most = min(BLOCK, length - at)
                file.write((text[first:] + text * (most // len(text) + 1))[:most])


def peak_megabytes() -> int:
    """The most memory that this process has had, pages of mapped files among it."""
    status = Path("/proc/self/status")
    if status.exists():  # what `getrusage` says begins with the peak of the process that started it
        lines = status.read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
