"""Random numbers: functions of a seed, the same on every machine."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.irdl import irdl_op_definition, operand_def, traits_def
from xdsl.traits import Pure

from kina.dialects.base import TENSOR, KinaOp, Value, inferred
from kina.rules.parts import Attributes
from kina.types import Dim


@irdl_op_definition
class RandomUniformOp(KinaOp):
    """Numbers in the open interval (0, 1), F32: Philox 4x32-10 of `seed`, I64 (key, offset)."""

    name = "kina.random_uniform"

    seed = operand_def(TENSOR)
    assembly_format = "$seed attr-dict `:` type($seed) `->` type($result)"

    traits = traits_def(Pure())

    def __init__(self, seed: Value, dims: Sequence[Dim]) -> None:
        result = inferred("random_uniform", [seed], {"dims": tuple(dims)})
        super().__init__(operands=[seed], result_types=[result])

    def rule_attributes(self) -> Attributes:
        """The dimensions."""
        return {"dims": self.kina_type.dims}
