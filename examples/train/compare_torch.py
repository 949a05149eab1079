"""Train the same model in PyTorch, on the same batches, and compare the losses with Kina's."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from texts import Positions, read
from training import PROGRAM, Plan, initial, mean_loss, train

import kina

TOLERANCE = 1e-4
"""How far the losses may be from each other, in nats."""


class TorchModel:
    """Two tables in PyTorch, and PyTorch's AdamW with its defaults."""

    def __init__(self, rate: float) -> None:
        self._torch: Any = import_module("torch")
        self._tables = [
            self._torch.nn.Parameter(self._torch.from_numpy(table)) for table in initial()[:2]
        ]
        self._optimizer = self._torch.optim.AdamW(self._tables, lr=rate, weight_decay=0.01)

    def _loss(self, positions: Positions) -> Any:
        last, before = self._tables
        newer, older, targets = (self._torch.tensor(array) for array in positions.arrays)
        return self._torch.nn.functional.cross_entropy(last[newer] + before[older], targets)

    def mean_loss(self, positions: Positions) -> float:
        """The mean loss over these positions, in nats."""
        with self._torch.no_grad():
            return float(self._loss(positions))

    def step(self, batch: Positions, rate: float) -> float:
        """Train on a batch; gives its loss before the step."""
        self._optimizer.param_groups[0]["lr"] = rate
        self._optimizer.zero_grad()
        loss = self._loss(batch)
        loss.backward()
        self._optimizer.step()
        return float(loss.detach())


def losses_by_kina(text: Positions, held_out: Positions, plan: Plan) -> Iterator[float]:
    """The loss of every batch, then those of the whole text and of the held-out text."""
    program, state = kina.load(PROGRAM), initial()
    for loss, after in train(program, text, plan):
        state = after
        yield loss
    yield mean_loss(program, state, text)
    yield mean_loss(program, state, held_out)


def losses_by_torch(text: Positions, held_out: Positions, plan: Plan) -> Iterator[float]:
    """The same by PyTorch."""
    model = TorchModel(plan.rate)
    for batch, rate in zip(plan.batches(text), plan.rates(), strict=True):
        yield model.step(batch, rate)
    yield model.mean_loss(text)
    yield model.mean_loss(held_out)


def compare(plan: Plan) -> float:
    """Print the losses side by side; gives the largest difference of all."""
    text, held_out = (Positions.of(part) for part in read())
    names = [f"batch {number}" for number in range(1, plan.steps + 1)]
    names += ["training text", "held-out text"]
    rows = list(
        zip(
            names,
            losses_by_kina(text, held_out, plan),
            losses_by_torch(text, held_out, plan),
            strict=True,
        )
    )
    print(f"{'loss, nats per byte':20}{'Kina':>12}{'PyTorch':>12}{'difference':>12}")
    shown = rows[: -2 : max(1, plan.steps // 10)] + rows[-2:]
    for name, ours, theirs in shown:
        print(f"{name:20}{ours:12.6f}{theirs:12.6f}{ours - theirs:12.1e}")
    largest = max(abs(ours - theirs) for _, ours, theirs in rows)
    print(f"largest difference of all {len(rows)} losses: {largest:.1e}")
    return largest


def main() -> None:
    """Compare; exit status 1 if the losses differ by more than `TOLERANCE`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=Plan().steps)
    plan = Plan(parser.parse_args().steps)
    if find_spec("torch") is None:
        sys.exit("compare_torch.py: PyTorch is not installed: pip install torch")
    if compare(plan) > TOLERANCE:
        sys.exit(f"compare_torch.py: Kina and PyTorch differ by more than {TOLERANCE}")


if __name__ == "__main__":
    main()
