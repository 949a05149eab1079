"""Chooses how a kernel runs, and builds its function."""

from __future__ import annotations

from xdsl.dialects import func
from xdsl.dialects.builtin import f32

from kina.passes.kernels.contraction import Contraction
from kina.passes.kernels.dots import DotTiles
from kina.passes.kernels.fibers import Fibers
from kina.passes.kernels.function import KernelFunction
from kina.passes.kernels.rows import Rows
from kina.passes.kernels.selection import Selection
from kina.passes.scheduling.contractions import roles_of


def build(function: KernelFunction) -> func.FuncOp:
    """The function of a kernel, with its loops."""
    roles = roles_of(function.kernel, function.space, function.machine)
    if roles is not None:
        tiles = Contraction if roles.element == f32 else DotTiles
        tiles(function, roles).build()
        return function.finish()
    if any(stage.node.is_selection for stage in function.kernel.stages):
        Selection(function).build()
        return function.finish()
    # An interior axis beside nothing but dimensions of size 1 keeps its order of sums.
    interior = function.space.axis is not None and function.kernel.frame.is_interior
    strategy = Fibers if interior else Rows
    strategy(function).build()
    return function.finish()
