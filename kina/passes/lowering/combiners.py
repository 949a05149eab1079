"""What reductions share: how two elements combine, where they start, and the loops."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.ir import Operation, SSAValue

from kina.dtypes import DType
from kina.frozen import frozen
from kina.passes.lowering.context import Lowering
from kina.passes.lowering.generic import Access, Body, generic, whole


@frozen(slots=True)
class Combiner:
    """The scalar operations of a reduction, and its start value."""

    float_op: type[Operation]
    int_op: type[Operation]
    start: str = "0"
    """The start value: a number, or the field of the dtype table that holds it."""


_SUM = Combiner(arith.AddfOp, arith.AddiOp)

COMBINERS: dict[str, Combiner] = {
    "sum": _SUM,
    "mean": _SUM,
    "max": Combiner(arith.MaximumfOp, arith.MaxSIOp, "lowest"),
    "min": Combiner(arith.MinimumfOp, arith.MinSIOp, "highest"),
    "prod": Combiner(arith.MulfOp, arith.MuliOp, "1"),
}


def identity(dtype: DType, start: str) -> int | float:
    """The start value of a reduction as a number."""
    text = start if start.isdigit() else str(getattr(dtype, start))
    return float(text) if dtype.is_float else int(text)


def reduce_fibers(
    state: Lowering,
    operands: Sequence[SSAValue],
    starts: Sequence[SSAValue],
    axis: int,
    body: Body,
) -> list[SSAValue]:
    """Reduce every fiber along `axis` of the first operand, from `starts`.

    The other operands and the results have its shape without the axis.
    """
    source = whole(operands[0])
    depth = len(source.loops)
    rest = tuple(loop for loop in range(depth) if loop != axis)
    inputs = [source, *(Access(operand, rest) for operand in operands[1:])]
    outputs = [Access(start, rest) for start in starts]
    return generic(state.builder, depth, inputs, outputs, body, reduced={axis})
