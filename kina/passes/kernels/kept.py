"""Which results a kernel writes before it is done, to read them again in a later walk."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import SSAValue

from kina.machine import Machine
from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.kernels import Kernel


def kept(kernel: Kernel, machine: Machine) -> set[SSAValue]:
    """The stored values of elements that are read again, if reading costs less than computing.

    Reductions read them, or a walk that would be too long a loop with what they take.
    """
    stages = {stage.value: stage for stage in kernel.stages if is_element(kernel, stage)}
    read = {value for stage in stages.values() for value, _ in stage.leaves}
    early: set[SSAValue] = set()
    for stage in kernel.stages:
        if stage.node.axis is not None:
            early.update(value for value in _behind(stages, stage) if value in kernel.outputs)
    long = {
        v
        for v in read & set(kernel.outputs) & set(stages)
        if stages[v].operations > machine.long_body
    }
    return long | {value for value in early if _cost(stages, stages[value]) > machine.access}


def is_element(kernel: Kernel, stage: Stage) -> bool:
    """Whether a stage computes a value for each element, without reducing any."""
    return stage.node.axis is None and kernel.frame.is_full(stage)


def _behind(stages: dict[SSAValue, Stage], stage: Stage) -> Iterator[SSAValue]:
    """The values of elements that a stage rests on."""
    seen: set[SSAValue] = set()
    pending = [value for value, _ in stage.leaves]
    while pending:
        value = pending.pop()
        if value in stages and value not in seen:
            seen.add(value)
            yield value
            pending += [leaf for leaf, _ in stages[value].leaves]


def _cost(stages: dict[SSAValue, Stage], stage: Stage) -> int:
    """Scalar operations to compute a value of an element."""
    return stage.operations + sum(stages[v].operations for v in _behind(stages, stage))
