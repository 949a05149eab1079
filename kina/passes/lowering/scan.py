"""Scans: a `linalg.generic` that keeps a running value along an axis and writes every element."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, tensor
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import SSAValue

from kina.dialects.scan import CumsumOp, RecurrenceOp, ReverseOp
from kina.passes.builder import Builder
from kina.passes.lowering.context import Lowering
from kina.passes.lowering.generic import Access, Body, generic, tensor_of, whole
from kina.passes.lowering.storage import storage_element


def lower_cumsum(state: Lowering, op: CumsumOp) -> None:
    """Lower a cumulative sum of F32 or of whole integers (decompose-kina widens the others)."""
    add = arith.AddfOp if op.kina_type.dtype.is_float else arith.AddiOp

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        total = inner.value(add(elements[1], elements[0]))
        return [total, total]

    _scan(state, op, 0, body)


def lower_recurrence(state: Lowering, op: RecurrenceOp) -> None:
    """Lower the states before each element."""

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        factor, term, held = elements[:3]
        product = inner.value(arith.MulfOp(held, factor))
        return [inner.value(arith.AddfOp(product, term)), held]

    _scan(state, op, op.start_value, body)


def _scan(state: Lowering, op: CumsumOp | RecurrenceOp, start: int, body: Body) -> None:
    """A walk along the axis: the running value of each fiber, and what is written."""
    type_, axis = op.kina_type, op.axis_value
    rest = tuple(loop for loop in range(type_.rank) if loop != axis)
    element = storage_element(type_.dtype)
    held = state.filled(start, element, tuple(type_.dims[loop] for loop in rest))
    inputs = [state.access(operand) for operand in op.operands]
    outputs = [Access(held, rest), whole(state.empty_like(type_))]
    results = generic(state.builder, type_.rank, inputs, outputs, body, reduced={axis})
    state.bind(op.result, results[1])


def lower_reverse(state: Lowering, op: ReverseOp) -> None:
    """Lower to reads from the other end."""
    type_, axis = op.kina_type, op.axis_value
    source = state.value(op.operand)
    size = state.size(type_.dims[axis])
    last = state.builder.value(arith.SubiOp(size, state.builder.index(1)))

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        places = [inner.value(IndexOp(loop)) for loop in range(type_.rank)]
        places[axis] = inner.value(arith.SubiOp(last, places[axis]))
        return [inner.value(tensor.ExtractOp(source, places, tensor_of(source).element_type))]

    output = whole(state.empty_like(type_))
    state.bind(op.result, generic(state.builder, type_.rank, [], [output], body)[0])
