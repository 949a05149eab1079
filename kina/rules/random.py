"""The type rule of random numbers."""

from __future__ import annotations

from collections.abc import Sequence

from kina.dtypes import F32, I64
from kina.ops import Op
from kina.rules.parts import Attributes, RuleError, dims_of
from kina.types import TensorType

SEED = TensorType(I64, (2,))
"""A key, and the number of the first block."""


def random_uniform(op: Op, operands: Sequence[TensorType], attributes: Attributes) -> TensorType:
    """F32 of the given dimensions."""
    (seed,) = operands
    if seed == SEED:
        return TensorType(F32, dims_of(attributes))
    raise RuleError(
        f"{op.name}: seed has type {seed}, expected {SEED}: (key, offset)",
        blame=0,
        help="the caller gives both: a parameter `seed: tensor<I64, [2]>`",
    )
