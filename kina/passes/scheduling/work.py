"""How much a kernel has to do, how many threads that is worth, and which loops they share."""

from __future__ import annotations

from collections.abc import Collection

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from kina.machine import Machine
from kina.passes.builder import Builder
from kina.passes.scheduling.buffers import index_of
from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.kernels import Frame, Kernel
from kina.passes.scheduling.space import Size, Space


def work_of(kernel: Kernel, space: Space, machine: Machine) -> Size:
    """Scalar operations, counted for the stages that run over all elements."""
    frame = kernel.frame
    cost = sum(_cost(frame, stage, machine) for stage in kernel.stages if frame.is_full(stage))
    return Size.product_of([Size(cost * (space.block or 1)), *space.sizes])


def _cost(frame: Frame, stage: Stage, machine: Machine) -> int:
    """Scalar operations per element; a stage that reduces nothing writes each."""
    rank = sum(dim != 1 for dim in frame.dims)
    read = sum(len(frame.place(stage, access)) == rank for _, access in stage.leaves)
    return stage.operations + machine.access * (read + (stage.node.axis is None))


def may_be_worth(work: Size, machine: Machine, regions: int = 1) -> bool:
    """Whether two threads may be better than one, in so many parallel regions."""
    return bool(work.factors) or work.known >= 2 * machine.grain * regions


def threads_for(work: Size, machine: Machine, at: Builder, regions: int = 1) -> SSAValue:
    """How many threads `work` is worth; below 2 it is worth none."""
    grain = index_of(Size(machine.grain * regions), at)
    return at.value(arith.DivUIOp(index_of(work, at), grain))


def grain_of(space: Space, loop: int, machine: Machine) -> int:
    """How many iterations of a parallel loop stay together on one thread."""
    if loop in space.grains:
        return space.grains[loop]
    return machine.band if space.axis is None and loop == space.last else 1


def shared_loops(space: Space, machine: Machine, *, any_loop: bool = False) -> tuple[int, ...]:
    """The parallel loops of which threads share the longest, none if none is longer than 1.

    With `any_loop`, no size says which that is: a call does a part of some loops. Where it is one
    of a product's rows and columns, threads share both, as a grid.
    """
    loops = [loop for loop in space.parallel if space.sizes[loop] != Size(1)]
    if any_loop:
        return tuple(loops)
    dynamic = [loop for loop in loops if space.sizes[loop].factors]
    known = [loop for loop in loops if loop not in dynamic]
    if dynamic:  # Rows of a product may turn out to be few, and its columns many.
        known = [loop for loop in known if loop in space.grains]

    def units(loop: int) -> int:
        return space.sizes[loop].known // grain_of(space, loop, machine)

    longest = sorted(known, key=units)[-1:]
    both = [loop for loop in loops if loop in space.grains]
    if not dynamic and set(longest) < set(both):
        return tuple(both)
    return (*dynamic, *longest)


def is_grid(space: Space, loops: Collection[int]) -> bool:
    """Whether loops that are shared are the rows and the columns of a product."""
    return len(loops) > 1 and set(loops) == set(space.grains)
