"""Which tensors a kernel reads and writes, and which of its dimensions walk them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from xdsl.dialects import linalg, tensor
from xdsl.ir import SSAValue

from kina.frozen import frozen
from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.graph import (
    UNIT,
    Access,
    Dim,
    Shape,
    base_of,
    made_of,
    memory_of,
    shape_of,
)
from kina.passes.scheduling.kernels import Kernel

Walk: TypeAlias = tuple[tuple[Dim, int | None], ...]
"""The dimensions of a tensor, those of size 1 left out: the size, and which dimension of the
kernel's frame walks all of it, if one does."""


@frozen(eq=False)
class Touched:
    """The memory that a kernel reads and writes, each place with its walk."""

    reads: tuple[tuple[SSAValue, Walk], ...]
    writes: tuple[tuple[SSAValue, Walk], ...]

    @staticmethod
    def by(kernel: Kernel) -> Touched:
        """What `kernel` touches."""
        reads = [read for stage in kernel.stages for read in _reads(kernel, stage)]
        return Touched(tuple(reads), tuple(_writes(kernel)))

    def walks(self, base: SSAValue) -> list[Walk]:
        """All walks of one tensor."""
        return [walk for found, walk in (*self.reads, *self.writes) if found is base]


def rows_and_rest(walk: Walk, rest: Shape) -> tuple[int, ...] | None:
    """The dimensions that walk the rows of a tensor, a row of which has the sizes `rest`.

    None if a row of it is anything else, or rows are not walked one by one.
    """
    count = len(walk) - len(rest)
    if count <= 0 or tuple(size for size, _ in walk[count:]) != rest:
        return None
    rows = tuple(dim for _, dim in walk[:count] if dim is not None)
    return rows if len(rows) == count else None


def rest_of(walk: Walk, rows: tuple[int, ...]) -> Shape | None:
    """The sizes of a row of a tensor whose first dimensions `rows` walk; None if they do not."""
    count = len(rows)
    if tuple(dim for _, dim in walk[:count]) != rows:
        return None
    return tuple(size for size, _ in walk[count:])


def _writes(kernel: Kernel) -> Iterator[tuple[SSAValue, Walk]]:
    for stage in kernel.stages:
        if stage.value in kernel.outputs:
            yield memory_of(stage.home), _walk(kernel, stage, stage.home, stage.written)


def _reads(kernel: Kernel, stage: Stage) -> Iterator[tuple[SSAValue, Walk]]:
    made = {other.value for other in kernel.stages}
    for value, access in stage.leaves:
        if value not in made:
            yield memory_of(value), _walk(kernel, stage, value, access)
    for op in stage.block.ops:
        if isinstance(op, tensor.ExtractOp):
            yield memory_of(op.tensor), _extracted(kernel, stage, op)


def _walk(kernel: Kernel, stage: Stage, value: SSAValue, access: Access) -> Walk:
    if base_of(value) is not made_of(value):  # A reshaped window.
        return tuple((size, None) for size in shape_of(value) if size != 1)
    mine = kernel.frame.dim_map(stage)
    return tuple(
        (size, None if dim == UNIT or access.shift(place) is not None else _named(mine[dim]))
        for place, (size, dim) in enumerate(zip(shape_of(value), access, strict=True))
        if size != 1
    )


def _extracted(kernel: Kernel, stage: Stage, op: tensor.ExtractOp) -> Walk:
    """Reads at computed places: of the row where the kernel stands, or of any."""
    mine = kernel.frame.dim_map(stage)
    walk: list[tuple[Dim, int | None]] = []
    for size, index in zip(shape_of(op.tensor), op.indices, strict=True):
        made = index.owner
        dim = mine[made.dim.value.data] if isinstance(made, linalg.ops.IndexOp) else UNIT
        if size != 1:
            walk.append((size, _named(dim)))
    return tuple(walk)


def _named(dim: int) -> int | None:
    return None if dim == UNIT else dim
