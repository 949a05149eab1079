"""Chooses how a kernel runs, and builds its function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from xdsl.dialects import func
from xdsl.dialects.builtin import f32

from kina.lazy import LazyTable
from kina.passes.kernels.function import KernelFunction
from kina.passes.scheduling.contractions import roles_of


class _Strategy(Protocol):
    """A way to run a kernel."""

    def build(self) -> None:
        """Fill the kernel's function."""


_STRATEGIES: LazyTable[Callable[..., _Strategy]] = LazyTable(
    "kina.passes.kernels",
    {
        "contraction": "contraction.Contraction",
        "dots": "dots.DotTiles",
        "selection": "selection.Selection",
        "fibers": "fibers.Fibers",
        "rows": "rows.Rows",
    },
)


def build(function: KernelFunction) -> func.FuncOp:
    """The function of a kernel, with its loops."""
    roles = roles_of(function.kernel, function.space, function.machine)
    if roles is not None:
        tiles = "contraction" if roles.element == f32 else "dots"
        _STRATEGIES[tiles](function, roles).build()
    else:
        _STRATEGIES[_choice(function)](function).build()
    return function.finish()


def _choice(function: KernelFunction) -> str:
    if any(stage.node.is_selection for stage in function.kernel.stages):
        return "selection"
    # An interior axis beside nothing but dimensions of size 1 keeps its order of sums.
    interior = function.space.axis is not None and function.kernel.frame.is_interior
    return "fibers" if interior else "rows"
