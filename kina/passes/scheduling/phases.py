"""Cuts a kernel into kernels whose rows can be cut into pieces.

A reduction is complete only when the whole row has been walked. So what reads it comes in a later
phase: first what is computed once per row, then what is computed per element.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.ir import SSAValue

from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.kernels import Frame, Kernel


def phases(kernel: Kernel) -> Iterator[Kernel]:
    """Kernels that do the same in this order; those without an axis run over the rows alone.

    Each stores every reduction that it makes, and what later ones read. Values of an element are
    never stored for later: they are computed again.
    """
    depths = _depths(kernel.stages)
    for depth in range(max(depths.values()) + 1):
        stages = [stage for stage in kernel.stages if depths[stage.value] == depth]
        full = [stage for stage in stages if kernel.frame.is_full(stage)]
        rows = [stage for stage in stages if stage not in full]
        if rows:
            outputs = [stage.value for stage in rows if _is_read_after(stage, rows, kernel)]
            yield Kernel(Frame(kernel.frame.row_sizes, None, kernel.frame.deep), rows, outputs)
        outputs = [
            stage.value
            for stage in full
            if stage.node.axis is not None or stage.value in kernel.outputs
        ]
        if outputs:
            yield Kernel(kernel.frame, _needed(kernel, outputs), outputs)


def _depths(stages: Sequence[Stage]) -> dict[SSAValue, int]:
    """How many reductions, one after the other, stand before each stage."""
    depths: dict[SSAValue, int] = {}
    after: dict[SSAValue, int] = {}
    for stage in stages:
        depth = max((after[value] for value, _ in stage.leaves if value in after), default=0)
        depths[stage.value] = depth
        after[stage.value] = depth + (stage.node.axis is not None)
    return depths


def _is_read_after(stage: Stage, together: Sequence[Stage], kernel: Kernel) -> bool:
    others = [other for other in kernel.stages if other not in together]
    return stage.value in kernel.outputs or any(
        value is stage.value for other in others for value, _ in other.leaves
    )


def _needed(kernel: Kernel, outputs: Sequence[SSAValue]) -> list[Stage]:
    """The stages that make `outputs`, with the values of an element that they read."""
    needed = set(outputs)
    for stage in reversed(kernel.stages):
        if stage.value in needed:
            needed.update(value for value, _ in stage.leaves)
    return [
        stage
        for stage in kernel.stages
        if stage.value in outputs
        or (stage.value in needed and stage.node.axis is None and kernel.frame.is_full(stage))
    ]
