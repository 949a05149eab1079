"""Hints on the memory that a kernel walks: rows to fetch ahead, results past the caches."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil
from typing import TypeAlias

from xdsl.dialects.builtin import FixedBitwidthType
from xdsl.ir import SSAValue

from kina.machine import Machine
from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.graph import Access, element_of, shape_of
from kina.passes.scheduling.kernels import Kernel
from kina.passes.scheduling.space import Size, Space

Hint: TypeAlias = tuple[SSAValue, Size]
"""A tensor, and a distance or size in elements."""


def next_rows(kernel: Kernel, space: Space, machine: Machine) -> Iterator[Hint]:
    """The tensors that rows walk more than once, and how many elements on the row to fetch is."""
    if space.block is not None or space.in_pieces:
        return  # Bands of fibers lie too close: measured, it gains little. A piece is walked once.
    for (value, access), stages in _walks(kernel).items():
        if len(stages) > 1:
            strides = space.strides(kernel.frame, stages[0], access, shape_of(value))
            rows = [strides[loop] for loop in space.parallel if loop in strides]
            for size in rows[-1:]:
                if size.factors:
                    yield value, size
                elif size.known in range(*machine.next_row):
                    yield value, Size(size.known * ceil(machine.nearest_row / size.known))


def next_steps(kernel: Kernel, space: Space, machine: Machine) -> Iterator[Hint]:
    """The tensors that bands walk more than once, and how many elements on the fetched ones are."""
    if space.block is None or space.axis is None or space.in_pieces:
        return
    for (value, access), stages in _walks(kernel).items():
        strides = space.strides(kernel.frame, stages[0], access, shape_of(value))
        if len(stages) > 1 and space.axis in strides:
            step = strides[space.axis]
            yield value, Size(step.known * machine.steps_ahead, step.factors)


def far_steps(kernel: Kernel, space: Space, machine: Machine) -> Iterator[Hint]:
    """The large factors of chains, a step of which is as many lines as the band has."""
    if space.block is None or space.axis is None:
        return
    for (value, access), stages in _walks(kernel).items():
        strides = space.strides(kernel.frame, stages[0], access, shape_of(value))
        both = {space.axis, space.last} <= set(strides)
        chains = all(stage.node.is_chain for stage in stages)
        if chains and both and _leaves_the_cache(value, machine):
            step = strides[space.axis]
            yield value, Size(step.known * machine.steps_ahead, step.factors)


def streams(kernel: Kernel, space: Space, machine: Machine) -> Iterator[Hint]:
    """The large tensors that reductions of rows walk once, in order, and how far ahead to fetch."""
    if space.axis is None or space.axis != space.last:
        return
    for (value, access), stages in _walks(kernel).items():
        walked = space.access(kernel.frame, stages[0], access)
        if len(stages) == 1 and space.axis in walked and _leaves_the_cache(value, machine):
            yield value, Size(machine.ahead // _bytes(value))


def _walks(kernel: Kernel) -> dict[tuple[SSAValue, Access], list[Stage]]:
    """The stages that walk each tensor of the caller, row by row."""
    made = {stage.value for stage in kernel.stages}
    walks: dict[tuple[SSAValue, Access], list[Stage]] = {}
    for stage in kernel.stages:
        for value, access in stage.leaves:
            if value not in made and kernel.frame.is_full(stage):
                walks.setdefault((value, access), []).append(stage)
    return walks


def _bytes(value: SSAValue) -> int:
    element = element_of(value)
    assert isinstance(element, FixedBitwidthType)
    return element.size


def _is_large(value: SSAValue, machine: Machine) -> bool:
    """Whether a tensor may be too large for a core's cache."""
    size = Size.product(shape_of(value))
    return bool(size.factors) or size.known * _bytes(value) >= machine.streamed


def _leaves_the_cache(value: SSAValue, machine: Machine) -> bool:
    """Whether a tensor that is walked once may be worth fetching ahead."""
    size = Size.product(shape_of(value))
    return bool(size.factors) or size.known >= machine.walked


def large_results(kernel: Kernel, machine: Machine) -> Iterator[Hint]:
    """The stored values that may be large, with their numbers of elements."""
    for value in kernel.outputs:
        if kernel.private_row(value) is None and _is_large(value, machine):
            yield value, Size.product(shape_of(value))
