"""Type rules of composites along an axis: logsumexp, rms_norm, layer_norm."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from kina.ops import Op
from kina.rules.parts import Attributes, RuleError, axis_of, check_axis, without_axis
from kina.types import TensorType, format_dims


def logsumexp(op: Op, operands: Sequence[TensorType], attributes: Attributes) -> TensorType:
    """The axis goes."""
    axis = axis_of(attributes)
    check_axis(op.name, axis, operands[0].dims)
    return operands[0].with_dims(without_axis(operands[0].dims, axis))


def norm(op: Op, operands: Sequence[TensorType], attributes: Attributes) -> TensorType:
    """The operand's type; the parameters have its dtype and the size of the axis."""
    operand, axis = operands[0], axis_of(attributes)
    check_axis(op.name, axis, operand.dims)
    for position, parameter in enumerate(operands[1:], start=1):
        _check_parameter(op, operand, axis, parameter, position)
    check_eps(op.name, attributes)
    return operand


def _check_parameter(
    op: Op, operand: TensorType, axis: int, parameter: TensorType, position: int
) -> None:
    name = op.operands[position]
    if parameter.dtype != operand.dtype:
        raise RuleError(
            f"{op.name}: {name} has dtype {parameter.dtype}, expected {operand.dtype} as operand",
            blame=position,
            help=f"there are no implicit conversions: write .cast({operand.dtype})",
        )
    expected = (operand.dims[axis],)
    if parameter.dims != expected:
        raise RuleError(
            f"{op.name}: {name} has shape {format_dims(parameter.dims)}, expected "
            f"{format_dims(expected)} (axis {axis} of {format_dims(operand.dims)})",
            blame=position,
        )


def check_eps(name: str, attributes: Attributes) -> None:
    """A finite number above 0; the front end has rounded it to F32."""
    eps = attributes["eps"]
    assert isinstance(eps, float)
    if not 0 < eps < inf:
        raise RuleError(f"{name}: eps={eps:g} is not a positive number", blame="eps")
