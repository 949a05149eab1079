"""The memory for a block of a pipeline: which tensors may take turns in one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.ir import SSAValue

from kina.machine import Machine
from kina.passes.kernels.kept import is_element, kept
from kina.passes.scheduling.graph import Shape, element_of, made_of
from kina.passes.scheduling.kernels import Kernel
from kina.passes.scheduling.members import has_chain
from kina.passes.scheduling.space import Size
from kina.passes.scheduling.touched import Touched


def slots_of(
    kernels: Sequence[Kernel],
    private: Mapping[SSAValue, Shape],
    touched: Mapping[Kernel, Touched],
    machine: Machine,
) -> dict[SSAValue, int]:
    """Tensors that are not needed at the same time, or are one by one made of each other."""
    slots: dict[SSAValue, int] = {}
    holders: list[SSAValue] = []
    uses = {
        base: [at for at, kernel in enumerate(kernels) if touched[kernel].walks(base)]
        for base in private
    }
    for base in sorted(private, key=lambda base: uses[base][0]):
        for number, holder in enumerate(holders):
            start, end = uses[base][0], uses[holder][-1]
            fits = _same_room(private, base, holder)
            kernel = kernels[start]
            over = fits and end == start and not kept(kernel, machine)
            if (fits and end < start) or (over and _in_place(kernel, holder)):
                slots[base], holders[number] = number, base
                break
        else:
            slots[base] = len(holders)
            holders.append(base)
    return slots


def _same_room(private: Mapping[SSAValue, Shape], left: SSAValue, right: SSAValue) -> bool:
    sizes = [Size.product(private[base]) for base in (left, right)]
    return sizes[0] == sizes[1] and element_of(left) == element_of(right)


def _in_place(kernel: Kernel, old: SSAValue) -> bool:
    """Whether a kernel may write its one result per element over the elements it reads.

    It reads an element for the last time when it writes that: what a row has one value of is
    computed before.
    """
    elements = [stage for stage in kernel.stages if is_element(kernel, stage)]
    written = [stage for stage in elements if stage.value in kernel.outputs]
    if len(written) != 1 or has_chain(kernel) or kernel.frame.is_interior:
        return False
    place = kernel.frame.place(written[0], written[0].written)
    reads = [
        (stage, value, access)
        for stage in elements
        for value, access in stage.leaves
        if made_of(value) is old
    ]
    captured = any(made_of(value) is old for stage in elements for value in stage.captured)
    return not captured and all(
        kernel.frame.place(stage, access) == place and not access.is_window
        for stage, _, access in reads
    )
