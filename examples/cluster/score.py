"""Scores a corpus larger than memory: `python examples/cluster/score.py FOLDER --workers 4`.

The corpus is a folder of files, the model is one of pairs of bytes, counted from the story. With
`--single` one process does it all; the total is the same number, to the last digit.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import log
from pathlib import Path
from typing import Any

import numpy as np
from corpus import BLOCK, Block, blocks, peak_megabytes, write_shards
from numpy.typing import NDArray

import kina

HERE = Path(__file__).parent
UNIT = 2.0**-24
"""Nats."""
SHARD = 1 << 28


@dataclass(frozen=True)
class Score:
    """What a block costs, in units; travels to other processes."""

    function: kina.Function
    logits: NDArray[np.float32]

    def __call__(self, block: Block) -> int:
        """An exact integer."""
        return int(self.function(self.logits, *block.pairs()))


def model() -> Score:
    """The model, counted from the story."""
    sys.path.insert(0, str(HERE.parent / "story"))
    story: Any = import_module("model")
    text, _ = story.read_story()
    return Score(kina.load(HERE / "score.kina").score, story.count(text).logits)


def total(scores: Iterable[tuple[Block, int]], todo: Sequence[Block]) -> int:
    """The sum, in whatever order the blocks come, since integers have no rounding.

    Shows how far it is.
    """
    start, size = time.monotonic(), sum(block.size for block in todo)
    done, found, missing = 0, 0, set(todo)
    for block, score in scores:
        missing.remove(block)
        done, found = done + block.size, found + score
        rate = done / 1e6 / max(time.monotonic() - start, 1e-9)
        words = f"{len(todo) - len(missing)} of {len(todo)} blocks, {100 * done // size} %"
        _show(f"{words}, {rate:.0f} MB/s, {_bits(found, done):.4f} bits per byte")
    _show("", last=True)
    assert not missing
    return found


def _bits(units: int, size: int) -> float:
    return units * UNIT / log(2) / size


def _show(line: str, *, last: bool = False) -> None:
    """The line of progress, on a terminal in place of the one before."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
    elif not last:
        print(line, file=sys.stderr, flush=True)


def alone(score: Score, todo: Sequence[Block]) -> Iterator[tuple[Block, int]]:
    """Block after block in this process."""
    for block in todo:
        yield block, score(block)


def main() -> None:
    """Make a corpus if that is asked for, score it, and print the total."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--make", type=int, metavar="MB", help="first write a corpus of that size")
    parser.add_argument(
        "--shard", type=int, default=SHARD, help="bytes of a file that --make writes"
    )
    parser.add_argument("--block", type=int, default=BLOCK, help="bytes that one task reads")
    parser.add_argument("--single", action="store_true", help="one process, no dask")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="500MB", help="what a worker may take")
    parser.add_argument("--scheduler", help="the address of a cluster that runs")
    parser.add_argument("--lose-a-worker", action="store_true", help="kill one, to see it go on")
    options = parser.parse_args()
    score = model()
    if options.make is not None:
        text = (HERE.parent / "story" / "story.txt").read_bytes()
        write_shards(options.folder, text, options.make * 10**6, options.shard)
    todo = list(blocks(sorted(options.folder.glob("*.bytes")), options.block))
    if not todo:
        sys.exit(f"{options.folder}: no .bytes files here; --make 1000 writes a gigabyte of them")
    if options.single:
        found = total(alone(score, todo), todo)
    else:
        from with_dask import scores

        place = options.scheduler, options.workers, options.memory
        on_workers = scores(score, todo, *place, lose_a_worker=options.lose_a_worker)
        found = total(on_workers, todo)
    size = sum(block.size for block in todo)
    print(f"{size} bytes: {found} units of 2^-24 nats, {_bits(found, size):.6f} bits per byte")
    print(f"this process took {peak_megabytes()} MB at most", file=sys.stderr)


if __name__ == "__main__":
    main()
