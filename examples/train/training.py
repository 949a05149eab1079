"""The host's part of training: the plan, the batches, the loop around `step`; and of sampling."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from texts import Positions

import kina

PROGRAM = Path(__file__).with_name("trigram.kina")
BYTES = 256
CHUNK = 2048
"""Positions per call of `loss`."""

State = tuple[NDArray[np.float32], ...]
"""What a step takes and gives: two tables, their moments, two scales; see `trigram.kina`."""


@dataclass(frozen=True)
class Plan:
    """What a training run is made of; with the texts it determines every number of it."""

    steps: int = 300
    batch: int = 2048
    """Positions per step."""
    rate: float = 0.05
    """The learning rate of the first step; it falls to zero on a straight line."""
    seed: int = 1
    """Which batches are drawn."""

    def batches(self, positions: Positions) -> Iterator[Positions]:
        """A batch for each step, drawn with replacement."""
        random = np.random.RandomState(self.seed)
        for _ in range(self.steps):
            yield positions.at(random.randint(0, len(positions), self.batch, np.int64))

    def rates(self) -> Iterator[float]:
        """The learning rate of each step."""
        for done in range(self.steps):
            yield self.rate * (1 - done / self.steps)


def initial() -> State:
    """The state before the first step: all zeros, so every byte is as likely as any other."""
    tables = [np.zeros((BYTES, BYTES), np.float32) for _ in range(6)]
    scales = [np.zeros((), np.float32) for _ in range(2)]
    return (*tables, *scales)


def train(program: kina.Module, positions: Positions, plan: Plan) -> Iterator[tuple[float, State]]:
    """After each step: the loss of its batch before the step, and the state after it."""
    state = initial()
    for batch, rate in zip(plan.batches(positions), plan.rates(), strict=True):
        loss, *after = program.step(*state, *batch.arrays, np.float32(rate))
        state = tuple(after)
        yield float(loss), state


def mean_loss(program: kina.Module, state: State, positions: Positions) -> float:
    """The mean loss of the model over these positions, in nats; in parts that fit into a cache."""
    total = 0.0
    for start in range(0, len(positions), CHUNK):
        part = positions.at(np.arange(start, min(start + CHUNK, len(positions))))
        total += len(part) * float(program.loss(*state[:2], *part.arrays))
    return total / len(positions)


@dataclass(frozen=True)
class Sampling:
    """How a text is drawn from the model; with the model it determines every byte."""

    size: int = 600
    """How many bytes to draw."""
    temperature: float = 0.8
    seed: int = 7
    """Which uniform numbers are drawn: 256 for each byte."""


def sample(program: kina.Module, state: State, prompt: bytes, how: Sampling) -> bytes:
    """`prompt` (two bytes or more) and the bytes that the model goes on with."""
    random = np.random.RandomState(how.seed)
    temperature = np.full((1, 1), how.temperature, np.float32)
    text = prompt
    for _ in range(how.size):
        u = random.uniform(1e-6, 1 - 1e-6, (1, BYTES)).astype(np.float32)
        newer, older = np.array([text[-1]]), np.array([text[-2]])
        chosen: Any = program.sample(*state[:2], newer, older, u, temperature)
        text += bytes([int(chosen[0])])
    return text
