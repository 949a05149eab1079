"""Check a variant against a reference in float64, and measure it: `compare.py --weights f32`.

`expected.json` holds what the reference says of three prompts and of a text of 200 tokens. Prints
one line for each, then hashes of all logits in different batches, by one and by two threads, then
tokens per second and the memory that the process took.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from convert import weights_file
from model import VARIANTS, Greedy, SmolLM2, compile_apart, generate, load
from rates import rates
from weights import WeightsError

import kina

EXPECTED = Path(__file__).with_name("expected.json")
CAPACITY = 1024
IDS = [(1000 + 7919 * i) % 49000 + 17 for i in range(512)]
"""What is read where only the time matters."""


def memory(key: str) -> float:
    """A line of this process's status, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith(key))


def check_prompt(model: SmolLM2, prompt: dict[str, Any]) -> str:
    """How the model's tokens and logits compare."""
    model.seen = 0
    logits = model.score(prompt["ids"])
    same = sum(a == b for a, b in zip(logits.argmax(axis=1), prompt["argmax"], strict=True))
    off = max(abs(float(logits[-1, top["id"]]) - top["logit"]) for top in prompt["last_top5"])
    model.seen = 0
    made = list(generate(model, prompt["ids"], Greedy(), 32, stop=False))
    pairs = enumerate(zip(made, prompt["greedy32_ids"], strict=True))
    first = next((place for place, (a, b) in pairs if a != b), 32)
    return (
        f"argmax {same}/{len(prompt['ids'])}, five best logits within {off:.2g}, "
        f"greedy tokens equal: {first} of 32"
    )


def check_text(model: SmolLM2, text: dict[str, Any]) -> str:
    """The perplexity of the text, beside the reference's."""
    ids = text["ids"]
    model.seen = 0
    logits = model.score(ids).astype(np.float64)
    highest = logits.max(axis=1, keepdims=True)
    logp = logits - highest - np.log(np.exp(logits - highest).sum(axis=1, keepdims=True))
    loss = -float(logp[np.arange(len(ids) - 1), ids[1:]].mean())
    wanted = text["mean_nll_nats"]
    more = 100 * np.expm1(loss - wanted)
    return f"loss {loss:.6f} nats, reference {wanted:.6f}: perplexity {more:+.2f} %"


def all_logits(model: SmolLM2, ids: Sequence[int], batch: int) -> str:
    """A hash of the logits of every position, so many tokens to a call."""
    found = hashlib.sha256()
    model.seen = 0
    for start in range(0, len(ids), batch):
        found.update(model.score(ids[start : start + batch]).tobytes())
    return found.hexdigest()[:12]


def one_by_one(model: SmolLM2, ids: Sequence[int]) -> str:
    """The same hash, from the program that takes one token."""
    found = hashlib.sha256()
    model.seen = 0
    for token in ids:
        found.update(model.feed([token]).tobytes())
    return found.hexdigest()[:12]


def check_bits(model: SmolLM2, ids: Sequence[int]) -> Iterator[str]:
    """The hashes of every way to read a text."""
    for threads in (1, 2):
        kina.set_num_threads(threads)
        for batch in (len(ids), 64, 7):
            yield f"{threads} threads, batches of {batch}: {all_logits(model, ids, batch)}"
        yield f"{threads} threads, decode one by one: {one_by_one(model, ids)}"


def measure(model: SmolLM2, threads: int) -> Iterator[str]:
    """Prefill of 128 and 512 tokens, decode of 32."""
    kina.set_num_threads(threads)

    def prefill(count: int) -> int:
        model.seen = 0
        model.feed(IDS[:count])
        return count

    def decode() -> int:
        for token in IDS[:32]:
            model.feed([token])
        return 32

    for name, work in (
        ("prefill 128", lambda: prefill(128)),
        ("prefill 512", lambda: prefill(512)),
        ("decode", decode),
    ):
        prefill(64)
        wall, cpu = rates(work, 5)
        yield f"{threads} threads, {name}: {wall:.0f} tokens/s, {cpu:.0f} per second of CPU time"


def report(model: SmolLM2, only: str | None) -> Iterator[str]:
    """All lines, or those of one kind."""
    expected = json.loads(EXPECTED.read_text(encoding="utf-8"))
    if only in (None, "check"):
        for prompt in expected["prompts"]:
            yield f"{prompt['name']}: {check_prompt(model, prompt)}"
        yield f"text: {check_text(model, expected['perplexity'])}"
    if only in (None, "bits"):
        yield from check_bits(model, expected["perplexity"]["ids"])
    if only in (None, "speed"):
        for threads in (1, 2):
            yield from measure(model, threads)


def main() -> int:
    """Run the command; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--weights", choices=VARIANTS, default="f32")
    parser.add_argument("--only", choices=("check", "bits", "speed"))
    options = parser.parse_args()
    compile_apart(options.weights)
    before = memory("VmRSS")
    file = weights_file(options.weights)
    try:
        model = load(options.weights, file, CAPACITY)
    except WeightsError as error:
        print(f"compare.py: {error}; `make chat` converts weights", file=sys.stderr)
        return 1
    for line in report(model, options.only):
        print(f"{options.weights}: {line}", flush=True)
    took, held = memory("VmHWM") - before, file.stat().st_size / 1e6
    print(f"{options.weights}: {took:.0f} MB at most, of which {held:.0f} are weights")
    return 0


if __name__ == "__main__":
    sys.exit(main())
