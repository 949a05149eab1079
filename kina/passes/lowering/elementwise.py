"""Elementwise operations: one parallel `linalg.generic` around what they do to scalars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import arith
from xdsl.dialects.builtin import IntegerType
from xdsl.ir import SSAValue

from kina.dialects.base import KinaOp
from kina.dialects.elementwise import StopGradientOp
from kina.dialects.types import element_type
from kina.dtypes import BOOL, DType
from kina.ops import OPS
from kina.passes.builder import Builder
from kina.passes.lowering.context import Lowering
from kina.passes.lowering.generic import Body, generic, whole
from kina.passes.lowering.scalars import scalar
from kina.passes.lowering.storage import load, store

if TYPE_CHECKING:
    from kina.dialects.choice import SelectOp


def elementwise(state: Lowering, op: KinaOp, body: Body) -> None:
    """Lower `op` to a parallel nest over its result with the given body."""
    inputs = [state.access(operand) for operand in op.operands]
    type_ = op.kina_type
    output = whole(state.empty_like(type_))
    (result,) = generic(state.builder, type_.rank, inputs, [output], body)
    state.bind(op.result, result)


def lower_elementwise(state: Lowering, op: KinaOp) -> None:
    """Lower an operation to what the op table or `FORMS` say of its scalars.

    The fast form keeps what earlier passes noted about it (`nonpositive`).
    """
    dtype, result = op.kina_operand_types()[0].dtype, op.kina_type.dtype
    notes = op.attributes if state.fast else {}

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        operands = [load(inner, dtype, element) for element in elements[:-1]]
        return [store(inner, result, scalar(inner, OPS[op.rule_name], dtype, operands, notes))]

    elementwise(state, op, body)


def lower_select(state: Lowering, op: SelectOp) -> None:
    """Lower to a choice between elements as they are at rest: nothing is rounded."""
    dtype = op.kina_type.dtype

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        condition = load(inner, BOOL, elements[0])
        yes, no = (_code(inner, dtype, element) for element in elements[1:3])
        chosen = inner.select(condition, yes, no)
        if dtype.is_small_float:
            chosen = inner.value(arith.BitcastOp(chosen, element_type(dtype)))
        return [chosen]

    elementwise(state, op, body)


def _code(inner: Builder, dtype: DType, element: SSAValue) -> SSAValue:
    """The bits of a small float, which no vector of its type selects; anything else as it is."""
    if not dtype.is_small_float:
        return element
    return inner.value(arith.BitcastOp(element, IntegerType(dtype.bits)))


def lower_stop_gradient(state: Lowering, op: StopGradientOp) -> None:
    """Behind reverse mode it is its operand."""
    state.alias(op.result, op.operand)
