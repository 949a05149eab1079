"""Elementwise operations: one parallel `linalg.generic` around one scalar operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import arith, math
from xdsl.ir import Attribute, Operation, SSAValue

from kina.dialects.base import KinaOp
from kina.dtypes import DType
from kina.ops import OPS
from kina.passes.builder import Builder
from kina.passes.lowering.context import Lowering
from kina.passes.lowering.generic import Body, generic, whole
from kina.passes.lowering.storage import compute_element, load, store

SCALAR_OPS: dict[str, type[Operation]] = {
    op.name: op for op in (*arith.Arith.operations, *math.Math.operations)
}
"""The scalar operations that the op table may name."""


def elementwise(state: Lowering, op: KinaOp, body: Body) -> None:
    """Lower `op` to a parallel nest over its result with the given body."""
    inputs = [state.access(operand) for operand in op.operands]
    type_ = op.kina_type
    output = whole(state.empty_like(type_))
    (result,) = generic(state.builder, type_.rank, inputs, [output], body)
    state.bind(op.result, result)


def lower_elementwise(state: Lowering, op: KinaOp) -> None:
    """Lower an operation that the op table gives a scalar operation.

    The fast form keeps what earlier passes noted about it (`nonpositive`).
    """
    dtype = op.kina_type.dtype
    notes = op.attributes if state.fast else {}

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        operands = [load(inner, dtype, element) for element in elements[:-1]]
        return [store(inner, dtype, _apply(inner, op.rule_name, dtype, operands, notes))]

    elementwise(state, op, body)


def _apply(
    inner: Builder,
    name: str,
    dtype: DType,
    operands: list[SSAValue],
    notes: Mapping[str, Attribute],
) -> SSAValue:
    """The scalar operation; an integer is negated by subtracting it from 0."""
    row = OPS[name]
    if not dtype.is_float and len(operands) == 1:
        operands = [inner.constant(0, compute_element(dtype)), *operands]
    scalar = SCALAR_OPS[row.float_op if dtype.is_float else row.int_op]
    types = [operands[0].type]
    return inner.value(scalar.create(operands=operands, result_types=types, attributes=notes))
