"""The plot of matrix products: how many times as fast as each library."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.products import Speed

# Colours and shapes as in the plot of the other workloads.
_STYLES = {"numpy": ("#0072B2", "o", "NumPy (OpenBLAS)"), "torch": ("#CC79A7", "s", "PyTorch")}


def draw(speeds: Sequence[Speed], path: Path) -> None:
    """Write the PNG: a row for each product that a library does too."""
    matplotlib: Any = import_module("matplotlib")
    matplotlib.use("Agg")
    pyplot: Any = import_module("matplotlib.pyplot")
    shown = [speed for speed in speeds if speed.over]
    figure, axis = pyplot.subplots(figsize=(8, 0.3 * len(shown) + 1.6), layout="constrained")
    for library, (colour, marker, label) in _STYLES.items():
        places = [y for y, speed in enumerate(shown) if library in speed.over]
        values = [shown[y].over[library] for y in places]
        axis.scatter(values, places, c=colour, marker=marker, label=label, zorder=3)
    axis.axvline(1, color="black", linewidth=1.2)
    names = [f"{speed.product.name}  ({speed.share:.2f} of the peak)" for speed in shown]
    axis.set_yticks(range(len(shown)), names)
    axis.set_ylim(len(shown) - 0.5, -0.5)
    axis.set_xscale("log")
    axis.set_xticks([0.8, 0.9, 1, 1.2, 1.5, 2], ["0.8", "0.9", "1", "1.2", "1.5", "2"], minor=False)
    axis.set_xticks([], minor=True)
    axis.grid(axis="x", color="#dddddd", linewidth=0.6)
    axis.set_xlabel("Kina: times as fast")
    figure.legend(loc="outside upper center", ncols=2, frameon=False)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
