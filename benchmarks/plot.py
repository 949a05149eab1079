"""The plot: how far from the memory limit each peer's best variant is, and the tiny calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.results import Results, Timing
from benchmarks.workloads import BY_NAME, MEMORY_BOUND_BYTES

# Colours that people with any colour vision tell apart (Okabe and Ito), and a shape for each.
_STYLES: Mapping[str, tuple[str, str, int]] = {
    "kina": ("#D55E00", "D", 90),
    "numba": ("#555555", "X", 60),
    "numpy": ("#0072B2", "o", 50),
    "torch": ("#CC79A7", "s", 45),
    "torch.compile": ("#E69F00", "^", 55),
    "jax": ("#009E73", "v", 55),
    "onnxruntime": ("#56B4E9", "P", 60),
}
_LABELS = {
    "kina": "Kina",
    "numba": "hand-written loop (Numba)",
    "numpy": "NumPy",
    "torch": "PyTorch",
    "jax": "JAX",
    "onnxruntime": "ONNX Runtime",
}


def available() -> bool:
    """Whether Matplotlib is installed."""
    return find_spec("matplotlib") is not None


def draw(results: Results, path: Path) -> None:
    """Write the PNG: one panel per number of threads, and below it the tiny calls."""
    matplotlib: Any = import_module("matplotlib")
    matplotlib.use("Agg")
    pyplot: Any = import_module("matplotlib.pyplot")
    names = [name for name in results.workloads if any(results.of(name, results.threads[0]))]
    large = [name for name in names if BY_NAME[name].bytes_read >= MEMORY_BOUND_BYTES]
    tiny = [name for name in names if name not in large]
    groups = [group for group in (large, tiny) if group]
    figure, axes = pyplot.subplots(
        len(groups),
        len(results.threads),
        figsize=(5.6 * len(results.threads) + 2.4, 0.52 * len(names) + 2.2),
        gridspec_kw={"height_ratios": [len(group) + 0.6 for group in groups]},
        sharex="row",
        sharey="row",
        squeeze=False,
        layout="constrained",
    )
    for row, group in zip(axes, groups, strict=True):
        for axis, threads in zip(row, results.threads, strict=True):
            _panel(axis, results, group, threads, in_limits=group is large)
    for axis, threads in zip(axes[0], results.threads, strict=True):
        axis.set_title(f"{threads} thread{'s' if threads > 1 else ''}", fontweight="bold")
    _legend(figure, results)
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def _panel(
    axis: Any, results: Results, names: Sequence[str], threads: int, *, in_limits: bool
) -> None:
    positions = range(len(names))
    ticker: Any = import_module("matplotlib.ticker")
    for y, name in zip(positions, names, strict=True):
        for peer, timing in _best_per_peer(results, name, threads).items():
            value = results.ratio(timing) if in_limits else timing.median * 1e6
            if value is not None:
                colour, marker, area = _STYLES[peer]
                axis.scatter(value, y, c=colour, marker=marker, s=area, zorder=3 + (peer == "kina"))
    axis.set_xscale("log")
    axis.set_yticks(list(positions), [BY_NAME[name].title for name in names])
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.grid(axis="x", which="both", color="#dddddd", linewidth=0.6)
    axis.grid(axis="y", color="#eeeeee")
    axis.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axis.xaxis.set_major_formatter("{x:g}")
    if in_limits:
        axis.axvline(1, color="black", linewidth=1.2)
        axis.set_xlabel("times the memory limit (1 = just moving the data)")
    else:
        axis.set_xlabel("µs per call")


def _best_per_peer(results: Results, name: str, threads: int) -> dict[str, Timing]:
    best: dict[str, Timing] = {}
    for timing in results.of(name, threads):
        known = best.get(timing.peer)
        if known is None or timing.median < known.median:
            best[timing.peer] = timing
    return best


def _legend(figure: Any, results: Results) -> None:
    lines: Any = import_module("matplotlib.lines")
    present = {timing.peer for timing in results.timings}
    handles = [
        lines.Line2D(
            [],
            [],
            color=colour,
            marker=marker,
            linestyle="",
            markersize=area**0.5,
            label=_LABELS.get(peer, peer),
        )
        for peer, (colour, marker, area) in _STYLES.items()
        if peer in present
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=4, frameon=False)
