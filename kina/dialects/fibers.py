"""Composites along an axis: logsumexp, rms_norm and layer_norm."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import Float32Type, FloatAttr, f32
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, traits_def
from xdsl.traits import Pure

from kina.dialects.base import (
    AXIS_FORMAT,
    TENSOR,
    AxisOp,
    KinaOp,
    Value,
    axis_attribute,
    inferred,
)
from kina.rules.parts import Attributes

NORM_FORMAT = "` ` `{` `axis` `=` $axis `,` `eps` `=` $eps `}` attr-dict"
"""How the compile-time arguments of a norm read in assembly: `{axis = 1, eps = 1e-05 : f32}`."""


class FiberOp(AxisOp):
    """A composite of arithmetic along `axis`.

    Each operation defines its operands, which stand in the order of their definition.
    """

    traits = traits_def(Pure())


@irdl_op_definition
class LogSumExpOp(FiberOp):
    """`log(sum(exp(x)))` of each fiber, whose axis goes; -inf where there is nothing but -inf."""

    name = "kina.logsumexp"

    operand = operand_def(TENSOR)
    assembly_format = f"$operand{AXIS_FORMAT} `:` type($operand) `->` type($result)"

    def __init__(self, operand: Value, axis: int) -> None:
        result = inferred("logsumexp", [operand], {"axis": axis})
        super().__init__(
            operands=[operand], properties={"axis": axis_attribute(axis)}, result_types=[result]
        )


class NormOp(FiberOp):
    """A composite that scales each fiber to a fixed size; `eps` is a value of F32."""

    eps = prop_def(FloatAttr[Float32Type])

    @property
    def eps_value(self) -> float:
        """What is added below the root."""
        return self.eps.value.data

    def rule_attributes(self) -> Attributes:
        """The axis and eps."""
        return {"axis": self.axis_value, "eps": self.eps_value}

    def _build(self, operands: Sequence[Value], axis: int, eps: float) -> None:
        name = self.name.removeprefix("kina.")
        result = inferred(name, operands, {"axis": axis, "eps": eps})
        properties = {"axis": axis_attribute(axis), "eps": FloatAttr(eps, f32)}
        KinaOp.__init__(self, operands=operands, properties=properties, result_types=[result])


@irdl_op_definition
class RmsNormOp(NormOp):
    """`x / sqrt(mean(x * x) + eps) * weight` of each fiber."""

    name = "kina.rms_norm"

    operand = operand_def(TENSOR)
    weight = operand_def(TENSOR)
    assembly_format = (
        f"$operand `,` $weight{NORM_FORMAT} `:` type($operand) `,` type($weight) `->` type($result)"
    )

    def __init__(self, operand: Value, weight: Value, axis: int, eps: float) -> None:
        self._build([operand, weight], axis, eps)


@irdl_op_definition
class LayerNormOp(NormOp):
    """`c / sqrt(mean(c * c) + eps) * weight + bias` of each fiber, with `c = x - mean(x)`."""

    name = "kina.layer_norm"

    operand = operand_def(TENSOR)
    weight = operand_def(TENSOR)
    bias = operand_def(TENSOR)
    assembly_format = (
        f"$operand `,` $weight `,` $bias{NORM_FORMAT} `:` "
        "type($operand) `,` type($weight) `,` type($bias) `->` type($result)"
    )

    def __init__(self, operand: Value, weight: Value, bias: Value, axis: int, eps: float) -> None:
        self._build([operand, weight, bias], axis, eps)
