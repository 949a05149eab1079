"""Appending the operations of gradients to a block, and the form of a rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from xdsl.ir import SSAValue

from kina.frozen import frozen
from kina.passes.tensor_builder import TensorBuilder, type_of
from kina.passes.vjp.counting import common, padded


@frozen(slots=True)
class Share:
    """A cotangent, or what one use of a value adds to it."""

    value: SSAValue
    chosen: Callable[[], SSAValue] | None = None
    """Which elements count, as Bool, with size 1 along axes where all are alike; None: all."""
    certain: bool = True
    """Whether the others are zeros already."""


class GradientBuilder(TensorBuilder):
    """Appends the operations of gradients."""

    def where(self, chosen: SSAValue, value: SSAValue) -> Share:
        """A cotangent that counts where it was chosen, and is exactly 0 elsewhere."""
        rank = type_of(value).rank
        kept = self.select(chosen, value, self.zeros(value))
        return Share(kept, cache(lambda: padded(self, common(self, chosen), rank)))


Partial = Callable[[], SSAValue | Share] | None
"""Builds one operand's share of the gradient when it is wanted; None: the operand has none."""

Rule = Callable[[GradientBuilder, Any, SSAValue], Sequence[Partial]]
"""From an operation and its result's cotangent to one `Partial` for each operand."""
