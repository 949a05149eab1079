"""Hints on the memory that a kernel walks: rows to fetch ahead, results past the caches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil
from typing import TypeAlias

from xdsl.dialects.builtin import ArrayAttr, FixedBitwidthType, StringAttr
from xdsl.ir import SSAValue

from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.graph import Access, element_of, shape_of
from kina.passes.scheduling.kernels import Kernel
from kina.passes.scheduling.space import Size, Space

Hint: TypeAlias = tuple[SSAValue, Size]
"""A tensor, and a distance or size in elements."""

NEXT_ROW = "kina-next-row"
"""The attribute of an LLVM function that asks for prefetches of the next row."""
NEXT_STEPS = "kina-next-steps"
"""The attribute that asks for prefetches further down a band of fibers."""
STEPS = 8
"""So many elements further."""
STREAM = "kina-stream"
"""The attribute that names results that may be written past the caches."""
AHEAD = "kina-ahead"
"""The attribute that asks for prefetches of what is walked once."""
DISTANCE = 8192
"""Bytes from a load to what is fetched with it."""
LARGE = 8 << 20
"""Bytes of a result that may be."""
LONG = 1 << 21
"""Elements of a tensor that do not stay in a core's cache until they are walked."""
LENGTHS = range(1 << 7, 1 << 18)
"""Elements of a row that is long enough to be worth it, and short enough for a core's cache."""
NEAREST = 512
"""Elements that lie at least between a load and the row that is fetched with it."""


def attributes_of(
    kernel: Kernel, space: Space, write: Callable[[SSAValue, Size], str]
) -> list[ArrayAttr[StringAttr]]:
    """The attributes of a kernel's LLVM function; `write` says a hint as text."""
    all_hints = {
        NEXT_ROW: next_rows(kernel, space),
        NEXT_STEPS: next_steps(kernel, space),
        AHEAD: streams(kernel, space),
        STREAM: large_results(kernel),
    }
    texts = {name: " ".join(write(*hint) for hint in hints) for name, hints in all_hints.items()}
    return [function_attribute(name, text) for name, text in texts.items() if text]


def function_attribute(name: str, value: str) -> ArrayAttr[StringAttr]:
    """A string attribute for an LLVM function."""
    return ArrayAttr([StringAttr(name), StringAttr(value)])


def next_rows(kernel: Kernel, space: Space) -> Iterator[Hint]:
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
                elif size.known in LENGTHS:
                    yield value, Size(size.known * ceil(NEAREST / size.known))


def next_steps(kernel: Kernel, space: Space) -> Iterator[Hint]:
    """The tensors that bands walk more than once, and how many elements on the fetched ones are."""
    if space.block is None or space.axis is None or space.in_pieces:
        return
    for (value, access), stages in _walks(kernel).items():
        strides = space.strides(kernel.frame, stages[0], access, shape_of(value))
        if len(stages) > 1 and space.axis in strides:
            step = strides[space.axis]
            yield value, Size(step.known * STEPS, step.factors)


def streams(kernel: Kernel, space: Space) -> Iterator[Hint]:
    """The large tensors that reductions of rows walk once, in order, and how far ahead to fetch."""
    if space.axis is None or space.axis != space.last:
        return
    for (value, access), stages in _walks(kernel).items():
        size = Size.product(shape_of(value))
        walked = space.access(kernel.frame, stages[0], access)
        if len(stages) == 1 and space.axis in walked and _may_reach(LONG, size):
            yield value, Size(DISTANCE // _bytes(value))


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


def _may_reach(least: int, size: Size) -> bool:
    return bool(size.factors) or size.known >= least


def large_results(kernel: Kernel) -> Iterator[Hint]:
    """The stored values that may be large, with their numbers of elements."""
    for value in kernel.outputs:
        size = Size.product(shape_of(value))
        if _may_reach(LARGE // _bytes(value), size):
            yield value, size
