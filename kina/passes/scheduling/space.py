"""The loops of a kernel, and sizes as products of known and run-time factors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import SSAValue

from kina.frozen import frozen
from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.graph import UNIT, Access, Dim, Shape
from kina.passes.scheduling.kernels import Frame, Kernel

Loops = tuple[int, ...]


@frozen
class Size:
    """A product of sizes: a known factor and sizes known at run time."""

    known: int = 1
    factors: tuple[SSAValue, ...] = ()

    @staticmethod
    def product(dims: Iterable[Dim]) -> Size:
        """The product of `dims`."""
        known, factors = 1, list[SSAValue]()
        for dim in dims:
            if isinstance(dim, int):
                known *= dim
            else:
                factors.append(dim)
        return Size(known, tuple(factors))

    @staticmethod
    def product_of(sizes: Sequence[Size]) -> Size:
        """The product of `sizes`."""
        known = prod(size.known for size in sizes)
        return Size(known, tuple(f for size in sizes for f in size.factors))

    @property
    def static(self) -> int:
        """The value, or MLIR's mark for a dynamic size."""
        return DYNAMIC_INDEX if self.factors else self.known


@dataclass
class Space:
    """The loops of a kernel after dropping dimensions of size 1 and merging neighbours.

    `merged` gives for each dimension of the frame its loop, UNIT for a dropped one. `axis` is
    the loop that is reduced; `ranged` are the loops of which a call does only a part: if the axis
    is one of them, the call leaves what it reduced at a place of its own. With
    `block`, the last loop counts blocks of that many elements and one more loop walks a block;
    the first element of the first block is an argument of the kernel.
    """

    sizes: tuple[Size, ...]
    merged: tuple[int, ...]
    axis: int | None
    ranged: tuple[int, ...] = ()
    block: int | None = None
    grains: dict[int, int] = field(default_factory=dict[int, int])
    """How many iterations of some loops stay together on one thread."""
    carries: bool = False
    """Whether a call that does a part of the axis goes on with what the calls before have left."""

    @property
    def in_pieces(self) -> bool:
        """Whether a call does only a part of the axis, for itself."""
        return self.axis in self.ranged and not self.carries

    @property
    def is_banded(self) -> bool:
        """Whether its last loop walks fibers: the axis lies further out."""
        return self.axis is not None and self.axis != self.last

    @property
    def last(self) -> int:
        """The last loop; with `block`, the one over blocks."""
        return len(self.sizes) - 1

    def size(self, loop: int) -> Size:
        """The size of one loop."""
        return Size(self.block or 1) if loop > self.last else self.sizes[loop]

    def split(self, loops: Iterable[int]) -> Loops:
        """`loops` with the loop within a block put in after the one over blocks."""
        result: list[int] = []
        for loop in loops:
            if loop == UNIT or loop in result:
                continue
            result.append(loop)
            if loop == self.last and self.block is not None and self.block > 1:
                result.append(loop + 1)
        return tuple(result)

    def step(self, loop: int) -> int:
        """How many elements apart neighbouring iterations are."""
        return self.block or 1 if loop == self.last else 1

    def loop(self, dim: int) -> int:
        """The loop of one dimension of the frame."""
        return UNIT if dim == UNIT else self.merged[dim]

    def access(self, frame: Frame, stage: Stage, access: Access) -> Loops:
        """The loops walked by `access` of `stage`, dropped dimensions left out."""
        mine = frame.dim_map(stage)
        return self.split(self.loop(mine[d]) for d in access if d != UNIT)

    def loops(self, frame: Frame, stage: Stage) -> Loops:
        """The loops of a stage."""
        return self.split(sorted({self.loop(d) for d in frame.dim_map(stage)}))

    def strides(self, frame: Frame, stage: Stage, access: Access, shape: Shape) -> dict[int, Size]:
        """How many elements apart the iterations of each loop walk a tensor of `shape`."""
        mine = frame.dim_map(stage)
        strides: dict[int, Size] = {}
        for position, dim in enumerate(access):
            loop = UNIT if dim == UNIT else self.loop(mine[dim])
            if loop != UNIT:
                strides[loop] = Size.product(shape[position + 1 :])
        if self.last in strides and self.block is not None:
            base = strides[self.last + 1] = strides[self.last]
            strides[self.last] = Size(base.known * self.block, base.factors)
        return strides

    @property
    def parallel(self) -> tuple[int, ...]:
        """The loops over rows, the one within a block left out."""
        return tuple(i for i in range(len(self.sizes)) if i != self.axis)


def space_of(kernel: Kernel) -> Space:
    """Drops loops of size 1 and merges neighbours that every access walks together."""
    frame = kernel.frame
    kept = [i for i, dim in enumerate(frame.dims) if dim != 1]
    walks = [w for s in kernel.stages for w in walks_of(frame, s)]
    fixed = any(stage.indexed or stage.captured for stage in kernel.stages)
    groups: list[list[int]] = []
    for dim in kept:
        last = groups[-1][-1] if groups else dim
        together = (last in kernel.rows) == (dim in kernel.rows)
        if groups and together and not fixed and can_merge(last, dim, frame, walks):
            groups[-1].append(dim)
        else:
            groups.append([dim])
    merged = [UNIT] * len(frame.dims)
    for loop, group in enumerate(groups):
        for dim in group:
            merged[dim] = loop
    sizes = tuple(Size.product(frame.dims[d] for d in group) for group in groups)
    axis = UNIT if frame.axis is None else merged[frame.axis]
    return Space(sizes, tuple(merged), None if axis == UNIT else axis, carries=kernel.carries)


@frozen
class Walk:
    """The dimensions that an access walks, in order; `cut` are those that do not follow on.

    From the end of one to the next iteration of the dimension before, there is a gap: a window
    leaves something out.
    """

    dims: tuple[int, ...]
    cut: frozenset[int]


def walks_of(frame: Frame, stage: Stage) -> list[Walk]:
    """The walk of each access of a stage, its result included."""
    accesses = [access for _, access in stage.leaves] + [stage.written]
    return [_walk(frame, stage, access) for access in accesses]


def _walk(frame: Frame, stage: Stage, access: Access) -> Walk:
    mine = frame.dim_map(stage)
    dims: list[int] = []
    cut: set[int] = set()
    gap = False
    for position, dim in enumerate(access):
        gap = gap or access.shift(position) is not None
        place = UNIT if dim == UNIT else mine[dim]
        if place != UNIT:
            dims.append(place)
            cut.update([place] if gap else [])
            gap = False
    return Walk(tuple(dims), frozenset(cut))


def can_merge(first: int, second: int, frame: Frame, walks: Sequence[Walk]) -> bool:
    """Whether two neighbouring row dimensions can be one loop."""
    if frame.axis in (first, second):
        return False
    if frame.axis is not None and first < frame.axis < second:
        return False
    return all(_walks_on(first, second, walk) for walk in walks)


def _walks_on(first: int, second: int, walk: Walk) -> bool:
    """Whether a walk takes both dimensions, one right after the other, or neither."""
    if first not in walk.dims or second not in walk.dims:
        return (first in walk.dims) == (second in walk.dims)
    follows = walk.dims.index(second) == walk.dims.index(first) + 1
    return follows and second not in walk.cut
