"""sum, prod, max, min, mean, any and all along one axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i32, i64
from xdsl.ir import SSAValue

from kina.dialects.reduce import ReductionOp
from kina.ops import CONTESTS
from kina.passes.builder import Builder
from kina.passes.extrema import settled
from kina.passes.lowering.combiners import COMBINERS, identity, reduce_fibers
from kina.passes.lowering.contests import lower_contest
from kina.passes.lowering.context import Lowering
from kina.passes.lowering.generic import generic, whole
from kina.passes.lowering.ordered import (
    BOTTOM,
    TOP,
    from_images,
    image_of,
    image_with_nan,
)
from kina.passes.lowering.shaping import reshape
from kina.passes.lowering.storage import compute_element, load, storage_element, store
from kina.passes.notes import NAN_ELSEWHERE
from kina.rules.parts import without_axis
from kina.types import Dim

NAN_IMAGES = {"max": TOP, "min": BOTTOM}
"""Where NaNs go so that they win."""
FLAGS = {"any": (arith.OrIOp, 0), "all": (arith.AndIOp, 1)}
"""How two truth values join, and what nothing gives."""


def lower_reduction(state: Lowering, op: ReductionOp) -> None:
    """Lower a reduction in the operand's own dtype (decompose-kina widens small floats)."""
    (operand,) = op.kina_operand_types()
    kind = op.kind.data.value
    if kind in CONTESTS:
        lower_contest(state, op)
        return
    dims = without_axis(operand.dims, op.axis_value)
    result = _choose(state, op)(state, op)
    if kind == "mean":
        result = _divide(state, result, dims, operand.dims[op.axis_value])
    state.bind(op.result, reshape(state, result, dims, op.kina_type.dims))


def _choose(state: Lowering, op: ReductionOp) -> Callable[[Lowering, ReductionOp], SSAValue]:
    (operand,) = op.kina_operand_types()
    if op.kind.data.value in FLAGS:
        return _reduce_flags
    if not (state.fast and operand.dtype.is_float and op.kind.data.value in NAN_IMAGES):
        return _reduce
    return _reduce if NAN_ELSEWHERE in op.attributes else _reduce_images


def _reduce(state: Lowering, op: ReductionOp) -> SSAValue:
    (operand,) = op.kina_operand_types()
    dtype, combiner = operand.dtype, COMBINERS[op.kind.data.value]
    scalar = combiner.float_op if dtype.is_float else combiner.int_op

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        values = [load(inner, dtype, element) for element in elements]
        combined = scalar.create(operands=values, result_types=[compute_element(dtype)])
        if NAN_ELSEWHERE in op.attributes:
            settled(combined)
        return [store(inner, dtype, inner.value(combined))]

    dims = without_axis(operand.dims, op.axis_value)
    start = state.filled(identity(dtype, combiner.start), storage_element(dtype), dims)
    return reduce_fibers(state, [state.value(op.operand)], [start], op.axis_value, body)[0]


def _reduce_flags(state: Lowering, op: ReductionOp) -> SSAValue:
    """any and all of bytes that are 0 or 1."""
    (operand,) = op.kina_operand_types()
    join, start = FLAGS[op.kind.data.value]

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        flag = store(inner, operand.dtype, load(inner, operand.dtype, elements[0]))
        return [inner.value(join(flag, elements[1]))]

    dims = without_axis(operand.dims, op.axis_value)
    starts = [state.filled(start, storage_element(operand.dtype), dims)]
    return reduce_fibers(state, [state.value(op.operand)], starts, op.axis_value, body)[0]


def _reduce_images(state: Lowering, op: ReductionOp) -> SSAValue:
    """max or min of F32 as that of integers; any NaN wins."""
    (operand,) = op.kina_operand_types()
    kind = op.kind.data.value
    combiner = COMBINERS[kind]

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        value, best = elements
        ordered = image_with_nan(inner, value, NAN_IMAGES[kind])
        return [inner.value(combiner.int_op.create(operands=[ordered, best], result_types=[i32]))]

    dims = without_axis(operand.dims, op.axis_value)
    start = state.filled(image_of(float(identity(operand.dtype, combiner.start))), i32, dims)
    (images,) = reduce_fibers(state, [state.value(op.operand)], [start], op.axis_value, body)
    return from_images(state, images, dims)


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
