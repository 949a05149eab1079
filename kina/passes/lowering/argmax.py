"""argmax: the lowest index of the maximum of each fiber (seed 17)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import i64
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import SSAValue

from kina.dialects.reduce import ReductionOp
from kina.passes.lowering.builder import Builder
from kina.passes.lowering.combiners import identity, reduced_loops
from kina.passes.lowering.context import Lowering
from kina.passes.lowering.generic import Access, generic
from kina.passes.lowering.shaping import reshape
from kina.passes.lowering.storage import load, storage_element, store
from kina.rules import without_axis


def lower_argmax(state: Lowering, op: ReductionOp) -> None:
    """Lower as seed 17 writes it: a running maximum and a running index, strictly greater wins.

    A NaN never compares greater, so the index is always in `0 .. size-1`.
    """
    (operand,) = op.kina_operand_types()
    dtype, axis = operand.dtype, op.axis_value
    dims = without_axis(operand.dims, axis)
    predicate = "ogt" if dtype.is_float else "sgt"

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        value, best = (load(inner, dtype, element) for element in elements[:2])
        greater = inner.compare(predicate, value, best)
        maximum = store(inner, dtype, inner.select(greater, value, best))
        position = inner.value(arith.IndexCastOp(inner.value(IndexOp(axis)), i64))
        return [maximum, inner.select(greater, position, elements[2])]

    starts = (
        state.filled(identity(dtype, "lowest"), storage_element(dtype), dims),
        state.filled(0, i64, dims),
    )
    loops = reduced_loops(operand.rank, axis)
    outputs = [Access(start, loops) for start in starts]
    inputs = [state.access(op.operand)]
    _, index = generic(state.builder, operand.rank, inputs, outputs, body, reduced={axis})
    state.bind(op.result, reshape(state, index, dims, op.kina_type.dims))
