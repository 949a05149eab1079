"""Measure and continue the story with the compiled programs of `story.kina`.

The host keeps the text, the loop and the seed; Kina computes the loss and chooses each byte.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from model import BYTES, ByteModel, bigram, count, read_story, unigram
from numpy.typing import NDArray

import kina

PROGRAM = Path(__file__).with_name("story.kina")
CHUNK = 512
"""Positions per call of `bits`."""
EPSILON = 1e-6
"""Uniform numbers are drawn from (EPSILON, 1 - EPSILON)."""
TOLERANCE = 1e-5
"""How far Kina's F32 mean loss may be from NumPy's in float64, in bits."""


def compile_for(model: ByteModel) -> kina.Module:
    """The programs of `story.kina`, with as many rows of logits as `model` has."""
    text = PROGRAM.read_text(encoding="utf-8")
    return kina.compile(text.replace("[256, 256]", f"[{len(model.rows)}, 256]"), name=PROGRAM.name)


def chunks(
    model: ByteModel, text: bytes
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]]:
    """Contexts, targets and mask, [512] each, that cover every byte of `text` but the first."""
    for start in range(1, len(text), CHUNK):
        ends = range(start, min(start + CHUNK, len(text)))
        contexts, targets = np.zeros(CHUNK, np.int64), np.zeros(CHUNK, np.int64)
        contexts[: len(ends)] = [model.row(text[:end]) for end in ends]
        targets[: len(ends)] = list(text[start : ends.stop])
        yield contexts, targets, (np.arange(CHUNK) < len(ends)).astype(np.float32)


def bits_per_byte(program: kina.Module, model: ByteModel, text: bytes) -> float:
    """The mean loss of `text` in bits, by the compiled program."""
    total = sum(float(program.bits(model.logits, *chunk)) for chunk in chunks(model, text))
    return total / (len(text) - 1)


def bits_per_byte_float64(model: ByteModel, text: bytes) -> float:
    """The same by NumPy in float64."""
    logits = model.logits.astype(np.float64)
    logp = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    total = 0.0
    for contexts, targets, mask in chunks(model, text):
        total -= float(logp[contexts, targets] @ mask)
    return total / np.log(2) / (len(text) - 1)


def continue_greedily(program: kina.Module, model: ByteModel, prompt: bytes, size: int) -> bytes:
    """`prompt` and the `size` bytes that are likeliest, one after the other."""
    text = prompt
    for _ in range(size):
        context = np.array([model.row(text)])
        text += bytes([int(program.greedy(model.logits, context)[0])])
    return text


class Sampler:
    """The host's part of sampling: the temperature and the seeded uniform numbers."""

    def __init__(self, temperature: float, seed: int) -> None:
        self.temperature = np.full((1, 1), temperature, np.float32)
        self._random = np.random.RandomState(seed)

    def uniform(self) -> NDArray[np.float32]:
        """The next uniform numbers in (0, 1), [1, 256]: one for each byte."""
        return self._random.uniform(EPSILON, 1 - EPSILON, (1, BYTES)).astype(np.float32)


def continue_by_sampling(
    program: kina.Module, model: ByteModel, prompt: bytes, size: int, sampler: Sampler
) -> bytes:
    """`prompt` and `size` bytes, each drawn from softmax(logits / temperature)."""
    text = prompt
    for _ in range(size):
        context = np.array([model.row(text)])
        chosen = program.sample(model.logits, context, sampler.uniform(), sampler.temperature)
        text += bytes([int(chosen[0])])
    return text


def show(text: bytes) -> None:
    """Print a text, its lines filled and indented; what is no printable ASCII shows as a dot."""
    for line in filter(None, text.decode("latin-1").split("\n")):
        legible = "".join(c if c.isascii() and c.isprintable() else "." for c in line)
        print(textwrap.fill(legible, 88, initial_indent="  ", subsequent_indent="  "))


def report_loss(program: kina.Module, model: ByteModel, name: str) -> bool:
    """Print the loss of the held-out chapter beside others; true if Kina and NumPy agree."""
    train, held_out = read_story()
    loss = bits_per_byte(program, model, held_out)
    expected = bits_per_byte_float64(model, held_out)
    single = -np.log2(unigram(train)[list(held_out[1:])]).mean()
    print(f"The loss of the held-out last chapter ({len(held_out)} bytes), in bits per byte:")
    print(f"  {np.log2(BYTES):.3f}  uniform: every byte alike")
    print(f"  {single:.3f}  unigram")
    print(f"  {loss:.3f}  {name}, compiled by Kina")
    print(f"  {expected:.3f}  {name}, by NumPy in float64")
    return abs(loss - expected) < TOLERANCE


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--logits", type=Path, help="a bigram's logits, as count.py writes them")
    source.add_argument("--context", type=int, default=1, help="count contexts of 1 to N bytes")
    parser.add_argument("--prompt", default="The heron ")
    parser.add_argument("--size", type=int, default=400, help="how many bytes to sample")
    parser.add_argument("--temperature", type=float, default=0.8)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    if not options.prompt or options.context < 1 or not options.temperature > 0:
        parser.error("expected a prompt that is not empty, a context >= 1 and a temperature > 0")
    return options


def tell(options: argparse.Namespace) -> bool:
    """Print the loss and the two continuations; true if Kina and NumPy agree."""
    if options.logits:
        model = bigram(np.load(options.logits))
    else:
        model = count(read_story()[0], options.context)
    program, prompt = compile_for(model), options.prompt.encode()
    name = "bigram" if options.context == 1 else f"contexts of 1 to {options.context} bytes"
    agree = report_loss(program, model, name)
    print(f"Continued greedily from {options.prompt!r}:")
    show(continue_greedily(program, model, prompt, 60))
    print(f"Continued by sampling at T = {options.temperature} with seed {options.seed}:")
    sampler = Sampler(options.temperature, options.seed)
    show(continue_by_sampling(program, model, prompt, options.size, sampler))
    return agree


def main() -> None:
    """Tell the story; exit status 1 if Kina and NumPy disagree, or the logits cannot be used."""
    try:
        agree = tell(parse_options())
    except (OSError, ValueError, kina.KinaError) as error:
        sys.exit(f"tell.py: {error}")
    if not agree:
        sys.exit("tell.py: Kina and NumPy disagree about the loss")


if __name__ == "__main__":
    main()
