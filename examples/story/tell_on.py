"""Tell stories on with `examples/sampling/sampler.kina`, byte by byte.

The logits are those of a byte model that is counted from `story.txt`. Several stories are told at
once; each is what it would be if those behind it were not told.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from model import BYTES, ByteModel, count, read_story
from numpy.typing import NDArray

import kina

SAMPLER = Path(__file__).resolve().parents[1] / "sampling" / "sampler.kina"
TOP_K = 40
STEP = 1 << 20
"""Blocks of random numbers from one byte to the next: the sampler takes 10 for each story."""


def continue_stories(
    model: ByteModel, prompts: list[bytes], size: int, settings: dict[str, float], key: int
) -> list[bytes]:
    """Each prompt and `size` bytes; what has occurred in a story is less likely in it."""
    sample = kina.load(SAMPLER).sample
    numbers: dict[str, object] = {name: np.float32(value) for name, value in settings.items()}
    numbers["k"] = np.int64(TOP_K)
    seen: NDArray[np.bool_] = np.zeros((len(prompts), BYTES), bool)
    for row, prompt in enumerate(prompts):
        seen[row, list(prompt)] = True
    for step in range(size):
        logits = np.stack([model.logits[model.row(text)] for text in prompts])
        seed = np.array([key, step * STEP])
        tokens, seen = sample(logits, seen, numbers, seed)
        prompts = [text + bytes([token]) for text, token in zip(prompts, tokens, strict=True)]
    return prompts


def main() -> None:
    """Count, draw, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prompt", action="append", help="may be given several times")
    parser.add_argument("--size", type=int, default=200, help="how many bytes to draw")
    parser.add_argument("--context", type=int, default=5, help="of how many bytes")
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--penalty", type=float, default=1.0, help="above 1: less repetition")
    parser.add_argument("--p", type=float, default=0.95, help="probability of what is drawn from")
    parser.add_argument("--share", type=float, default=0.01, help="of the likeliest one's")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    prompts = options.prompt or ["The heron ", "In the morning "]
    if not all(prompts) or not options.temperature > 0:
        parser.error("expected prompts that are not empty and a temperature above 0")
    settings = {name: getattr(options, name) for name in ("penalty", "temperature", "p", "share")}
    model = count(read_story()[0], options.context)
    encoded = [prompt.encode() for prompt in prompts]
    for text in continue_stories(model, encoded, options.size, settings, options.seed):
        print(f"- {text.decode('latin-1')}\n")


if __name__ == "__main__":
    main()
