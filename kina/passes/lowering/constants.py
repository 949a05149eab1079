"""`kina.constant`: the payload as an `arith.constant`, a splat as a fill."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    AnyDenseElement,
    DenseIntOrFPElementsAttr,
    FixedBitwidthType,
    IntegerType,
    TensorType,
    i8,
)
from xdsl.dialects.linalg.ops import FillOp
from xdsl.ir import SSAValue

from kina.dialects.elementwise import ConstantOp
from kina.dialects.types import from_ir
from kina.dtypes import BOOL
from kina.passes.builder import Builder
from kina.passes.lowering.context import Lowering
from kina.passes.lowering.generic import generic, whole

Payload = DenseIntOrFPElementsAttr[AnyDenseElement]


def lower_constant(state: Lowering, op: ConstantOp) -> None:
    """Lower a constant; static shapes only, since a payload has no others."""
    payload = _at_rest(op.value)
    if payload.get_shape() and _uniform(payload):
        state.bind(op.result, _fill(state, payload))
    elif payload.is_splat() and not _uniform(payload):
        state.bind(op.result, _mixed_zeros(state, payload))
    else:
        state.bind(op.result, state.builder.value(arith.ConstantOp(payload)))


def _at_rest(value: Payload) -> Payload:
    """The payload as tensors hold it: I4 and Bool one per byte."""
    type_ = from_ir(value.type)
    if type_.dtype.storage_bits == type_.dtype.bits:
        return value
    elements = cast(Sequence[int], value.get_values())
    if type_.dtype is BOOL:
        elements = [int(element != 0) for element in elements]
    at_rest = TensorType(i8, value.get_shape())
    return DenseIntOrFPElementsAttr.from_list(at_rest, elements)


def _uniform(payload: Payload) -> bool:
    """Whether all elements have the same bits (xDSL's `is_splat` takes -0.0 for 0.0)."""
    data = payload.data.data
    width = len(data) // prod(payload.get_shape())
    return data == data[:width] * (len(data) // width)


def _fill(state: Lowering, payload: Payload) -> SSAValue:
    """One value everywhere, without its copies in the library."""
    scalar = state.builder.value(arith.ConstantOp(next(iter(payload.iter_attrs()))))
    target = state.empty(payload.get_element_type(), payload.get_shape())
    return state.builder.value(FillOp([scalar], [target], [target.type]))


def _mixed_zeros(state: Lowering, payload: Payload) -> SSAValue:
    """Zeros of both signs, which xDSL would print as one splat: written as their bits."""
    element = cast(FixedBitwidthType, payload.get_element_type())
    shape = payload.get_shape()
    bits = IntegerType(element.bitwidth)
    integers = DenseIntOrFPElementsAttr(TensorType(bits, shape), payload.data)
    source = state.builder.value(arith.ConstantOp(integers))

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        return [inner.value(arith.BitcastOp(elements[0], element))]

    target = state.empty(element, shape)
    return generic(state.builder, len(shape), [whole(source)], [whole(target)], body)[0]
