"""What the reference knows of one application of an operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kina.arrays import Array
from kina.dtypes import DType
from kina.frozen import frozen
from kina.ops import Op
from kina.rules.parts import Attributes


@frozen(slots=True)
class Site:
    """One application of an operation: what it needs beside its operands."""

    op: Op
    dtype: DType
    """The dtype of the first operand."""
    attributes: Attributes
    shape: tuple[int, ...]
    """The result's shape, symbols replaced by this call's sizes."""

    @property
    def axis(self) -> int:
        """The compile-time axis."""
        axis = self.attributes["axis"]
        assert isinstance(axis, int)
        return axis


Meaning = Callable[[Site, Sequence[Array]], Array]
"""From the operands to the result."""
