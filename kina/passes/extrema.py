"""Float maxima and minima for which neither NaNs nor the signs of zeros count.

On most processors such an extremum is one instruction, one that has IEEE's say in both is four.
Whoever makes an extremum is the one who knows, so it marks it; kernels make one instruction of it.
"""

from __future__ import annotations

from typing import TypeVar

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Operation

SETTLED = "settled"
"""A discardable attribute of `arith.maximumf` and `arith.minimumf`; no name of ours, see seed 9."""

OpT = TypeVar("OpT", bound=Operation)


def settled(op: OpT) -> OpT:
    """`op`, marked: its users give the same whatever it makes of NaNs and of two zeros."""
    op.attributes[SETTLED] = UnitAttr()
    return op
