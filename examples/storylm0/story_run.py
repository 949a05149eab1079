"""The host's part of training: the texts, the plan, the loop around `step`, and checkpoints."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from parameters import check, flat, initial, nested, shapes
from tensor_file import Array, BadFile, Tensors, load, save

import kina

Tokens = NDArray[np.int64]


@dataclass(frozen=True)
class Plan:
    """What a training run is made of; with the text it determines every bit of it."""

    steps: int = 240
    batch: int = 16
    """Texts per step."""
    length: int = 128
    """Tokens of each."""
    rate: float = 2e-3
    """The highest learning rate: it rises for `rise` steps, then falls to 0 on a straight line."""
    rise: int = 20
    decay: float = 0.1
    seed: int = 1

    def batch_of(self, text: Tokens, step: int) -> tuple[Tokens, Tokens]:
        """The texts of a step, and for each token the one after it."""
        random = np.random.RandomState([self.seed, step])
        starts = random.randint(0, len(text) - self.length, self.batch, np.int64)
        windows = text[starts[:, None] + np.arange(self.length + 1)]
        return windows[:, :-1].copy(), windows[:, 1:].copy()

    def rate_of(self, step: int) -> np.float32:
        """The learning rate of a step."""
        return np.float32(self.rate * min((step + 1) / self.rise, 1) * (1 - step / self.steps))


@dataclass
class Run:
    """How far a training run is: `tensors` are the parameters `p.…` and the rest `state.…`."""

    plan: Plan
    tensors: Tensors
    losses: list[float] = field(default_factory=list[float])
    """The loss of each step's batch, before the step."""

    @classmethod
    def begin(cls, plan: Plan, step: kina.Function) -> Run:
        """Before the first step."""
        parameters = initial(shapes(step, "p"), plan.seed)
        tensors = {f"p.{name}": array for name, array in parameters.items()}
        for name, shape in shapes(step, "state").items():
            tensors[f"state.{name}"] = np.zeros(shape, np.float32)
        return cls(plan, tensors)

    @property
    def done(self) -> int:
        """How many steps have been made."""
        return len(self.losses)

    @property
    def parameters(self) -> Tensors:
        """The model's parameters."""
        prefix = "p."
        return {n.removeprefix(prefix): a for n, a in self.tensors.items() if n.startswith(prefix)}

    def train(self, step: kina.Function, text: Tokens) -> Iterator[float]:
        """Make the steps that are left; gives the loss of each, before the step."""
        record = nested(self.tensors)
        p, state, decay = record["p"], record["state"], np.float32(self.plan.decay)
        for number in range(self.done, self.plan.steps):
            batch = self.plan.batch_of(text, number)
            p, state, loss = step(p, state, *batch, self.plan.rate_of(number), decay)
            self.tensors = {**flat(p, "p."), **flat(state, "state.")}
            self.losses.append(float(loss))
            yield self.losses[-1]

    def save(self, path: Path) -> None:
        """Write a checkpoint, from which training goes on as if it had not ended."""
        losses = np.array(self.losses, np.float32)
        save(path, {**self.tensors, "losses": losses}, {"plan": json.dumps(asdict(self.plan))})

    @classmethod
    def load(cls, path: Path, plan: Plan, step: kina.Function) -> Run:
        """The run in a checkpoint. Raises `BadFile`, and OSError as `open` does."""
        tensors, metadata = load(path)
        losses: Array = tensors.pop("losses", np.zeros(0, np.float32))
        if metadata.get("plan") != json.dumps(asdict(plan)):
            raise BadFile(f"{path}: a checkpoint of another plan; --fresh begins anew")
        wanted = {f"{r}.{n}": s for r in ("p", "state") for n, s in shapes(step, r).items()}
        check(path, tensors, wanted)
        return cls(plan, tensors, [float(loss) for loss in losses])


def tokens(text: bytes) -> Tokens:
    """A byte is a token."""
    return np.frombuffer(text, np.uint8).astype(np.int64)


def bits_per_byte(nll: kina.Function, parameters: Tensors, text: bytes, window: int = 256) -> float:
    """The mean loss of each byte of a text but the first, in bits.

    Windows overlap by a half, of which only the later one counts: a byte has half a window before
    it, where there is as much.
    """
    codes, p, half = tokens(text), nested(parameters), window // 2
    total = np.float64(0)
    for start in range(0, len(codes) - 1, half):
        part = codes[start : start + window + 1]
        losses = nll(p, part[None, :-1], part[None, 1:])[0]
        total += losses[half if start else 0 :].sum(dtype=np.float64)
        if start + window + 1 >= len(codes):
            break
    return float(total / (len(codes) - 1) / np.log(2))
