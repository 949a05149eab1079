"""Hints on the memory that a kernel walks: rows to fetch ahead, results past the caches."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import SSAValue

from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.graph import Access, shape_of
from kina.passes.scheduling.kernels import Kernel
from kina.passes.scheduling.space import Size, Space

NEXT_ROW = "kina-next-row"
"""The attribute of an LLVM function that asks for prefetches of the next row."""
STREAM = "kina-stream"
"""The attribute that names results that may be written past the caches."""
LARGE = 1 << 21
"""Elements of a result that may be."""
LENGTHS = range(1 << 11, 1 << 18)
"""Elements of a row that is long enough to be worth it, and short enough for a core's cache."""


def next_rows(kernel: Kernel, space: Space) -> Iterator[tuple[SSAValue, Size]]:
    """The tensors that rows walk more than once, and how many elements on the next row is."""
    if space.block is not None:
        return  # Bands of fibers lie too close: measured, it gains nothing.
    made = {stage.value for stage in kernel.stages}
    walks: dict[tuple[SSAValue, Access], list[Stage]] = {}
    for stage in kernel.stages:
        for value, access in stage.leaves:
            if value not in made and kernel.frame.is_full(stage):
                walks.setdefault((value, access), []).append(stage)
    for (value, access), stages in walks.items():
        if len(stages) > 1:
            strides = space.strides(kernel.frame, stages[0], access, shape_of(value))
            rows = [strides[loop] for loop in space.parallel if loop in strides]
            for size in rows[-1:]:
                if size.factors or size.known in LENGTHS:
                    yield value, size


def large_results(kernel: Kernel) -> Iterator[tuple[SSAValue, Size]]:
    """The stored values that may be large, with their numbers of elements."""
    for value in kernel.outputs:
        size = Size.product(shape_of(value))
        if size.factors or size.known >= LARGE:
            yield value, size
