"""The cotangents of one function's values, while reverse mode walks it backwards."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from kina.passes.tensor_builder import type_of
from kina.passes.vjp.builder import GradientBuilder, Share
from kina.passes.vjp.chosen import both, settled


@dataclass
class Cotangents:
    """What is known so far; `active` are the values that depend on what is differentiated by."""

    builder: GradientBuilder
    active: AbstractSet[SSAValue]
    known: dict[SSAValue, Share]
    replaced: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Results of forward operations that others have taken the place of."""

    def add(self, value: SSAValue, share: Share) -> None:
        """Add `share` to the cotangent of `value`: the uses count in reverse program order."""
        known = self.known.get(value)
        self.known[value] = share if known is None else both(self.builder, known, share)

    def settled(self, share: Share) -> SSAValue:
        """A cotangent with exact zeros where it does not count."""
        return settled(self.builder, share)

    def mask(self, share: Share) -> SSAValue | None:
        """Which elements of a cotangent count, one by one; None: all."""
        if share.chosen is None:
            return None
        return self.builder.spread(share.chosen(), type_of(share.value).dims)


def masked(value: SSAValue, mask: SSAValue | None) -> Share:
    """A cotangent that is settled already."""
    return Share(value) if mask is None else Share(value, lambda: mask)
