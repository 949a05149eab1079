"""Where a chain of products keeps its sums between two blocks of k."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from kina.machine import Machine
from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.graph import Dim


def sums_to_store(
    stages: Sequence[Stage], outputs: Sequence[SSAValue], depth: Dim | None, machine: Machine
) -> SSAValue | None:
    """A chain's value, where it takes several blocks and no stored value has room for its sums."""
    chains = [stage for stage in stages if stage.node.is_chain]
    if len(chains) != 1 or depth is None:
        return None
    if isinstance(depth, int) and depth <= machine.tile_depth:
        return None
    kept = [stage for stage in stages if stage.value in outputs]
    return None if any(holds_sums(stage) for stage in kept) else chains[0].value


def holds_sums(stage: Stage) -> bool:
    """Whether a stored value of each element has room for what there is of its sum so far.

    Not a window of another tensor, which may be read before it is overwritten.
    """
    return stage.element == f32 and stage.home is stage.value
