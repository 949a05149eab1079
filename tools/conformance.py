"""Whether this machine computes StoryLM-0 to the bit: prints hashes, compares with kept ones.

    python tools/conformance.py                  on this CPU as it is
    python tools/conformance.py --targets all    and on every lower level of its architecture

Everything that docs/reproducibility.md promises is computed in every way that it names, from
parameters and tokens that are exact integers. Exit status 1 if a hash differs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import kina

ROOT = Path(__file__).resolve().parents[1]
EXAMPLE = ROOT / "examples" / "storylm0"
KEPT = Path(__file__).with_suffix(".json")
PROGRAMS = ("storylm0_forward", "storylm0_loss", "storylm0_train", "storylm0_step")
LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4", "native")
LENGTH = 100
"""Tokens of a text: more than lanes of a sum, and no multiple of anything."""

Array = NDArray[Any]
Functions = Mapping[str, kina.Function]
Row = tuple[str, str, str]
"""What is computed, in which way, and its hash."""


def numbers(shape: tuple[int, ...], seed: int, unit: float) -> Array:
    """Random multiples of a power of two: the same on every machine."""
    random = np.random.RandomState(seed)
    return (random.randint(-512, 513, shape) * np.float32(unit)).astype(np.float32)


def record(
    function: kina.Function, name: str, make: Callable[[int, tuple[int, ...]], Array]
) -> Any:
    """A record argument, of tensors that `make` makes of their number and shape."""
    made: dict[str, Any] = {}
    for number, parameter in enumerate(function.type.parameters):
        if parameter.name.startswith(f"{name}."):
            _, *outer, last = parameter.name.split(".")
            inner = made
            for part in outer:
                inner = inner.setdefault(part, {})
            inner[last] = make(number, tuple(map(int, parameter.type.dims)))
    return made


def hashed(*values: Any) -> str:
    """A hash of arrays and records of them, their shapes aside."""
    digest = sha256()
    for array in arrays(values):
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()[:16]


def arrays(values: Any) -> Iterator[Array]:
    """The arrays of tuples and records, in order."""
    if not isinstance(values, tuple):
        yield np.asarray(values)
        return
    for value in values:  # pyright: ignore[reportUnknownVariableType]
        yield from arrays(value)


class Model:
    """The functions, their parameters, and texts."""

    def __init__(self, functions: Functions) -> None:
        self.f = functions
        weights = [2.0**-10, 2.0**-12]
        self.p = record(functions["forward"], "p", lambda n, s: numbers(s, n, weights[n % 2]))
        self.tokens = np.random.RandomState(7).randint(0, 256, (3, LENGTH), np.int64)
        self.targets = np.roll(self.tokens, -1, axis=1)

    def cache(self, batch: int, capacity: int) -> Any:
        """An empty cache."""
        for parameter in self.f["prefill"].type.parameters:
            if parameter.name == "cache.keys":
                layers, _, heads, _, columns = map(str, parameter.type.dims)
                shape = (int(layers), batch, int(heads), capacity, int(columns))
                return {name: np.zeros(shape, np.float32) for name in ("keys", "values")}
        raise AssertionError("prefill takes a cache")

    def whole(self) -> Array:
        """Logits of texts as training computes them."""
        return self.f["forward"](self.p, self.tokens)

    def alone(self) -> Array:
        """The same, one text at a time."""
        parts = [self.f["forward"](self.p, self.tokens[row : row + 1]) for row in range(3)]
        return np.concatenate(parts)

    def begun(self) -> Array:
        """The same, of beginnings: the last token of each counts."""
        parts = [self.f["forward"](self.p, self.tokens[:, : n + 1])[:, n:] for n in range(LENGTH)]
        return np.concatenate(parts, axis=1)

    def prefilled(self, *ends: int) -> Array:
        """The same, in pieces that end there, into a cache in place."""
        cache, found, at = self.cache(3, LENGTH + 28), list[Array](), 0
        for end in ends:
            part = self.tokens[:, at:end]
            _, logits = self.f["prefill"](self.p, cache, part, np.int64(at), out=(cache, None))
            found.append(logits)
            at = end
        return np.concatenate(found, axis=1)

    def stepped(self) -> Array:
        """The same, one token of one text after the other."""
        rows = [self._stepped(row) for row in range(3)]
        return np.concatenate(rows)

    def _stepped(self, row: int) -> Array:
        cache, found = self.cache(1, 256), list[Array]()
        for at in range(LENGTH):
            token = self.tokens[row : row + 1, at : at + 1]
            _, logits = self.f["step"](self.p, cache, token, np.int64(at), out=(cache, None))
            found.append(logits)
        return np.concatenate(found, axis=1)

    def appended(self) -> Array:
        """The same, each token joined to the cache by a concat."""
        first = self.tokens[:, :1]
        cache, logits = self.f["prefill"](self.p, self.cache(3, 1), first, np.int64(0))
        found = [logits]
        for at in range(1, LENGTH):
            cache, logits = self.f["append"](self.p, cache, self.tokens[:, at : at + 1])
            found.append(logits)
        return np.concatenate(found, axis=1)

    def trained(self) -> Any:
        """Two steps of training: parameters, moments and losses."""
        zero = record(self.f["train"], "state", lambda _, shape: np.zeros(shape, np.float32))
        p, state, losses = self.p, zero, list[Any]()
        for _ in range(2):
            rates = np.float32(2**-8), np.float32(2**-3)
            p, state, loss = self.f["train"](p, state, self.tokens, self.targets, *rates)
            losses.append(loss)
        return p, state, *losses

    def chosen(self) -> Any:
        """Tokens: the most likely ones, and drawn ones with their random numbers."""
        u = self.f["uniform"](np.array([3, 5]))
        logits = self.whole()
        spread = np.broadcast_to(u, logits.shape).copy()
        heat = np.full((1, 1), 0.75, np.float32)
        return self.f["greedy"](logits), u, self.f["sample"](logits, spread, heat)


def rows(functions: Functions) -> Iterator[Row]:
    """Every result in every way."""
    model = Model(functions)
    ways: dict[str, Callable[[], Array]] = {
        "whole texts": model.whole,
        "one text at a time": model.alone,
        "beginnings of every length": model.begun,
        "prefilled at once": lambda: model.prefilled(LENGTH),
        "prefilled in pieces": lambda: model.prefilled(1, 2, 35, 64, LENGTH),
        "one token at a time": model.stepped,
        "joined by concat": model.appended,
    }
    for count in (1, 2, 3):
        kina.set_num_threads(count)
        on = f"{count} thread{'s'[: count > 1]}"
        for way, compute in ways.items():
            yield "logits", f"{way}, {on}", hashed(compute())
        yield "losses", on, hashed(functions["nll"](model.p, model.tokens, model.targets))
        yield "training", on, hashed(model.trained())
        yield "tokens", on, hashed(model.chosen())
    kina.set_num_threads(None)


def compiled(target: str) -> Functions:
    """The functions of the example for a target."""
    modules = [kina.load(EXAMPLE / f"{name}.kina", target=target) for name in PROGRAMS]
    return {name: module[name] for module in modules for name in module}


def parse_options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--targets", choices=["all", *LEVELS], default="native")
    parser.add_argument("--write", action="store_true", help="keep the hashes of this machine")
    return parser.parse_args()


def main() -> None:
    """Print every hash and whether it is the kept one."""
    options = parse_options()
    kept: dict[str, dict[str, str]] = json.loads(KEPT.read_text())
    wanted = {} if options.write else dict(kept["storylm0"])
    different = 0
    for target in LEVELS if options.targets == "all" else [options.targets]:
        for what, way, got in rows(compiled(target)):
            right = got == wanted.setdefault(what, got)
            different += not right
            print(f"{got}  {'' if right else 'DIFFERENT  '}{what}: {way}, {target}", flush=True)
    if options.write and not different:
        KEPT.write_text(json.dumps(kept | {"storylm0": wanted}, indent=2) + "\n")
    if different:
        sys.exit(f"conformance.py: {different} hashes differ from those in {KEPT.name}")
    print("every hash is the kept one")


if __name__ == "__main__":
    main()
