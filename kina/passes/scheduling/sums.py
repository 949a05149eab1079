"""Where a sum of products is kept between two blocks of k."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from kina.machine import Machine
from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.graph import Dim
from kina.passes.scheduling.products import depth_of, products_of


def sums_to_store(
    stages: Sequence[Stage], outputs: Sequence[SSAValue], depth: Dim | None, machine: Machine
) -> SSAValue | None:
    """A sum's value, where it takes several blocks and no stored value has room for it."""
    found = ((stage, products_of(stage, machine)) for stage in stages)
    products = [(stage, made.element) for stage, made in found if made is not None]
    if len(products) != 1 or depth is None:
        return None
    ((stage, element),) = products
    if isinstance(depth, int) and depth <= depth_of(element, machine):
        return None
    kept = [other for other in stages if other.value in outputs]
    return None if any(holds_sums(other, stage) for other in kept) else stage.value


def holds_sums(stage: Stage, products: Stage) -> bool:
    """Whether a stored value of each element has room for what there is of its sum so far.

    Not a window of another tensor, which may be read before it is overwritten.
    """
    return stage.element == products.element and stage.home is stage.value
