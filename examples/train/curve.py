"""The loss curve of a training run, and its picture."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any


@dataclass
class Curve:
    """Losses in nats per byte, each with how many steps had been made."""

    batches: list[float] = field(default_factory=list[float])
    """The loss of each step's batch, before the step."""
    held_out: dict[int, float] = field(default_factory=dict[int, float])
    """The loss of the held-out text, by the number of steps."""

    def draw(self, path: Path) -> None:
        """Write the curve as a PNG; needs matplotlib."""
        drawing: Any = import_module("matplotlib.figure")
        figure = drawing.Figure(figsize=(8, 4.5), dpi=120, layout="constrained")
        axes = figure.subplots()
        axes.plot(range(len(self.batches)), self.batches, linewidth=1, label="training, each batch")
        steps, losses = zip(*self.held_out.items(), strict=True)
        axes.plot(steps, losses, linewidth=2, label=f"held out, {losses[-1]:.3f} at the end")
        axes.set_xlabel("steps")
        axes.set_ylabel("loss, nats per byte")
        axes.set_title("A neural trigram model learns two stories")
        axes.grid(alpha=0.3)
        axes.legend()
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)
