"""How much a kernel has to do, and in how many parts its loops can be done."""

from __future__ import annotations

from kina.passes.scheduling.kernels import Kernel
from kina.passes.scheduling.space import Size, Space

WIDE = 64
"""Fibers of one band along an interior axis; elements that stay together on one thread."""
GRAIN = 1 << 20
"""Scalar operations that are worth a thread: about 15 microseconds of vector code."""


def work_of(kernel: Kernel, space: Space) -> Size:
    """Scalar operations, counted for the stages that run over all elements."""
    cost = sum(stage.cost for stage in kernel.stages if kernel.frame.is_full(stage))
    return Size.product_of([Size(cost * (space.block or 1)), *space.sizes])


def may_be_worth(work: Size) -> bool:
    """Whether it can keep two threads busy."""
    return bool(work.factors) or work.known >= 2 * GRAIN


def grain_of(space: Space, loop: int) -> int:
    """How many iterations of a parallel loop stay together on one thread."""
    return WIDE if space.axis is None and loop == space.last else 1


def shared_loops(space: Space) -> tuple[int, ...]:
    """The parallel loops of which threads share the longest, none if none is longer than 1."""
    loops = [loop for loop in space.parallel if space.sizes[loop] != Size(1)]
    if dynamic := [loop for loop in loops if space.sizes[loop].factors]:
        return tuple(dynamic)
    if not loops:
        return ()
    return (max(loops, key=lambda loop: space.sizes[loop].known // grain_of(space, loop)),)
