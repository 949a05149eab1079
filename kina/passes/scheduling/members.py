"""Kernels as members of a pipeline: which may be one, and which of their loops walk its rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from kina.machine import Machine
from kina.passes.scheduling.contractions import roles_of
from kina.passes.scheduling.kernels import Kernel, Member
from kina.passes.scheduling.space import Size, space_of
from kina.passes.scheduling.sums import holds_sums


def has_chain(kernel: Kernel) -> bool:
    """Whether a kernel is a matrix product."""
    return any(stage.node.is_chain for stage in kernel.stages)


def carries(kernel: Kernel, rows: tuple[int, ...]) -> bool:
    """Whether a kernel with these rows reduces them."""
    return kernel.frame.axis is not None and rows[-1] == kernel.frame.axis


def may_join(kernel: Kernel, rows: tuple[int, ...], machine: Machine) -> bool:
    """Whether a kernel can be called for some of these rows."""
    frame = kernel.frame
    if list(rows) != sorted(set(rows)) or frame.axis in rows[:-1]:
        return False
    member = replace(kernel, member=Member(rows, carries(kernel, rows)))
    roles = roles_of(member, space_of(member), machine) if has_chain(kernel) else None
    if not member.carries:
        last = max((dim for dim, size in enumerate(frame.dims) if size != 1), default=None)
        if roles is not None:
            return roles.columns not in row_loops(member)
        return last not in rows or not (has_chain(kernel) or frame.is_interior)
    if has_chain(kernel):
        if roles is None or roles.rows is None:
            return False
        return roles.columns == space_of(member).last
    return frame.is_interior and all(
        stage.node.axis is not None
        and not (stage.node.is_scan or stage.node.is_contest or stage.node.is_selection)
        and stage.value in kernel.outputs
        for stage in kernel.stages
    )


def row_loops(kernel: Kernel) -> tuple[int, ...]:
    """The loops of a member that walk the rows."""
    space = space_of(kernel)
    loops = (space.loop(dim) for dim in kernel.rows if kernel.frame.dims[dim] != 1)
    return tuple(dict.fromkeys(loops))


def row_sizes(kernel: Kernel) -> list[Size]:
    """How often these loops run."""
    space = space_of(kernel)
    return [space.sizes[loop] for loop in row_loops(kernel)]


def nest_of(kernels: Iterable[Kernel]) -> list[Size]:
    """The loops around the blocks, and the one that is done in blocks: those of the members that
    have most, among products and what adds up."""
    sizes = [row_sizes(kernel) for kernel in kernels if kernel.carries or has_chain(kernel)]
    return max(sizes, key=len)


def nests(rows: Mapping[Kernel, tuple[int, ...]]) -> bool:
    """Whether sums that go on do so in the order of the blocks."""
    kernels = [
        replace(kernel, member=Member(mine, carries(kernel, mine))) for kernel, mine in rows.items()
    ]
    if not any(kernel.carries or has_chain(kernel) for kernel in kernels):
        return True
    nest = nest_of(kernels)
    return all(
        sizes[-1] == nest[-1] if len(sizes) == len(nest) else has_chain(kernel) and len(sizes) == 1
        for kernel in kernels
        if kernel.carries
        for sizes in [row_sizes(kernel)]
    )


def keep_sums(kernel: Kernel) -> None:
    """A chain whose sums go on from block to block has room for them."""
    if kernel.carries and has_chain(kernel):
        kept = [stage for stage in kernel.stages if stage.value in kernel.outputs]
        chain = next(stage for stage in kernel.stages if stage.node.is_chain)
        if not any(holds_sums(stage, chain) for stage in kept):
            kernel.outputs.insert(0, chain.value)
