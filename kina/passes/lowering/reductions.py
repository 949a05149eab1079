"""sum, max, min and mean along one axis."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import SSAValue

from kina.dialects.reduce import ReductionOp
from kina.passes.lowering.argmax import lower_argmax
from kina.passes.lowering.builder import Builder
from kina.passes.lowering.combiners import COMBINERS, Combiner, identity, reduced_loops
from kina.passes.lowering.context import Lowering
from kina.passes.lowering.generic import Access, generic, whole
from kina.passes.lowering.shaping import reshape
from kina.passes.lowering.storage import compute_element, load, storage_element, store
from kina.rules import without_axis
from kina.types import Dim


def lower_reduction(state: Lowering, op: ReductionOp) -> None:
    """Lower a reduction in the operand's own dtype (decompose-kina widens small floats)."""
    (operand,) = op.kina_operand_types()
    kind, axis = op.kind.data.value, op.axis_value
    if kind == "argmax":
        lower_argmax(state, op)
        return
    result = _combine(state, op, COMBINERS[kind])
    dims = without_axis(operand.dims, axis)
    if kind == "mean":
        result = _divide(state, result, dims, operand.dims[axis])
    state.bind(op.result, reshape(state, result, dims, op.kina_type.dims))


def _combine(state: Lowering, op: ReductionOp, combiner: Combiner) -> SSAValue:
    (operand,) = op.kina_operand_types()
    dtype, axis = operand.dtype, op.axis_value
    scalar = combiner.float_op if dtype.is_float else combiner.int_op

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        values = [load(inner, dtype, element) for element in elements]
        combined = scalar.create(operands=values, result_types=[compute_element(dtype)])
        return [store(inner, dtype, inner.value(combined))]

    start = state.filled(
        identity(dtype, combiner.start),
        storage_element(dtype),
        without_axis(operand.dims, axis),
    )
    output = Access(start, reduced_loops(operand.rank, axis))
    inputs = [state.access(op.operand)]
    (result,) = generic(state.builder, operand.rank, inputs, [output], body, reduced={axis})
    return result


def _divide(state: Lowering, total: SSAValue, dims: tuple[Dim, ...], size: Dim) -> SSAValue:
    """The mean: the F32 sum over the size of the axis."""
    divisor = _as_float(state, size)

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        return [inner.value(arith.DivfOp(elements[0], divisor))]

    output = whole(state.empty(f32, dims))
    return generic(state.builder, len(dims), [whole(total)], [output], body)[0]


def _as_float(state: Lowering, size: Dim) -> SSAValue:
    if isinstance(size, int):
        return state.builder.real(float(size), f32)
    count = state.builder.value(arith.IndexCastOp(state.size(size), i64))
    return state.builder.value(arith.SIToFPOp(count, f32))
