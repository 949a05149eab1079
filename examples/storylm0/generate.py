"""Let a trained StoryLM-0 go on with a text: `python generate.py WEIGHTS --prompt "The heron "`."""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

from generation import Generator, Sampling
from parameters import STEP

import kina


def parse_options() -> argparse.Namespace:
    """The command line."""
    sampling = Sampling()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weights", type=Path, help="a safetensors file, as `make story` writes it")
    parser.add_argument("--program", type=Path, default=STEP, help="of another model's sizes")
    parser.add_argument("--prompt", default="The heron ")
    parser.add_argument("--size", type=int, default=32, help="how many bytes to write")
    parser.add_argument("--greedy", action="store_true", help="always the most likely byte")
    parser.add_argument("--temperature", type=float, default=sampling.temperature)
    parser.add_argument("--seed", type=int, default=sampling.seed)
    parser.add_argument("--cache", type=int, default=512, help="tokens that there is room for")
    parser.add_argument("--ids", action="store_true", help="print numbers in place of the text")
    options = parser.parse_args()
    if options.size < 1 or options.cache < 1:
        parser.error("expected at least one byte, and a cache of at least one token")
    if not 0 < options.temperature < math.inf:
        parser.error("expected a finite temperature > 0")
    if not -(2**63) <= options.seed < 2**63:
        parser.error("expected a seed of 64 bits")
    return options


def legible(tokens: list[int]) -> str:
    """A text; what is no printable ASCII shows as a dot."""
    return "".join(chr(t) if t == ord("\n") or 32 <= t < 127 else "." for t in tokens)


def run(options: argparse.Namespace) -> None:
    """Print the text, or its tokens."""
    generator = Generator(kina.load(options.program), options.weights, options.cache)
    prompt = options.prompt.encode()
    if options.greedy:
        found = generator.greedy(prompt, options.size)
    else:
        how = Sampling(options.temperature, options.seed)
        found = generator.sampled(prompt, options.size, how)
    print(" ".join(map(str, found)) if options.ids else options.prompt + legible(found))


def main() -> None:
    """Run, or say what is wrong."""
    options = parse_options()
    try:
        run(options)
    except (OSError, ValueError, kina.KinaError) as error:
        sys.exit(f"generate.py: {error}")


if __name__ == "__main__":
    main()
