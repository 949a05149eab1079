"""What reductions share: how two elements combine, and where a reduction starts."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects import arith
from xdsl.ir import Operation

from kina.dtypes import DType


@dataclass(frozen=True, slots=True)
class Combiner:
    """The scalar operations of a reduction, and how its start value is written in a dtype row."""

    float_op: type[Operation]
    int_op: type[Operation]
    start: str | None = None
    """The field of the dtype table that holds the start value; None: 0."""


_SUM = Combiner(arith.AddfOp, arith.AddiOp)

COMBINERS: dict[str, Combiner] = {
    "sum": _SUM,
    "mean": _SUM,
    "max": Combiner(arith.MaximumfOp, arith.MaxSIOp, "lowest"),
    "min": Combiner(arith.MinimumfOp, arith.MinSIOp, "highest"),
}


def identity(dtype: DType, field: str | None) -> int | float:
    """The start value of a reduction as a number."""
    text = "0" if field is None else str(getattr(dtype, field))
    return float(text) if dtype.is_float else int(text)


def reduced_loops(rank: int, axis: int) -> tuple[int, ...]:
    """The loops of a reduction that index its result."""
    return tuple(loop for loop in range(rank) if loop != axis)
