"""Operations that change the shape and keep the elements."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

from xdsl.irdl import irdl_op_definition, operand_def, traits_def
from xdsl.traits import Pure

from kina.dialects.base import TENSOR, KinaOp, Value, inferred
from kina.rules.parts import Attributes
from kina.types import Dim


class ShapingOp(KinaOp, ABC):
    """An operation whose target dimensions are those of its result type."""

    operand = operand_def(TENSOR)
    assembly_format = "$operand attr-dict `:` type($operand) `->` type($result)"

    traits = traits_def(Pure())

    def __init__(self, operand: Value, dims: Sequence[Dim]) -> None:
        name = self.name.removeprefix("kina.")
        result = inferred(name, [operand], {"dims": tuple(dims)})
        super().__init__(operands=[operand], result_types=[result])

    def rule_attributes(self) -> Attributes:
        """The target dimensions."""
        return {"dims": self.kina_type.dims}


@irdl_op_definition
class BroadcastOp(ShapingOp):
    """Pads the shape with 1s on the left, then repeats along every axis of size 1 (seed 18)."""

    name = "kina.broadcast"


@irdl_op_definition
class ReshapeOp(ShapingOp):
    """The same elements, in row-major order, under another shape."""

    name = "kina.reshape"
