"""How much an operation of kina IR is: the operations that `decompose-kina` makes of it."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation

from kina.dialects.base import KinaOp
from kina.dialects.contraction import ContractOp, MatmulOp
from kina.dialects.elementwise import (
    BinaryOp,
    ClampOp,
    GeluOp,
    GeluTanhOp,
    LogSigmoidOp,
    SigmoidOp,
    SiluOp,
    SoftplusOp,
    UnaryOp,
    XlogyOp,
)
from kina.dialects.fibers import FiberOp, LayerNormOp, LogSumExpOp, RmsNormOp
from kina.dialects.normalize import LogSoftmaxOp, NormalizeOp, SoftmaxOp
from kina.dialects.reduce import ReductionOp
from kina.dialects.scan import CumsumOp
from kina.dtypes import I4

IN_F32 = (UnaryOp, BinaryOp, ClampOp, NormalizeOp, FiberOp, ReductionOp, CumsumOp)
"""What computes in F32 where it is of small floats, between casts."""

WEIGHTS: dict[type[Operation], int] = {
    ClampOp: 2,
    XlogyOp: 6,
    SoftmaxOp: 7,
    LogSoftmaxOp: 8,
    LogSigmoidOp: 8,
    SoftplusOp: 8,
    LogSumExpOp: 13,
    SigmoidOp: 13,
    GeluOp: 14,
    SiluOp: 17,
    GeluTanhOp: 25,
    RmsNormOp: 29,
    LayerNormOp: 35,
}
"""Of F32; all others are one operation."""


_CONTRACTIONS = (MatmulOp, ContractOp)
_IN_I8 = (*_CONTRACTIONS, CumsumOp)
"""The same for I4."""


def weight(op: Operation) -> int:
    """How many operations it becomes."""
    casts = len(op.operands) + 1 if isinstance(op, KinaOp) and _is_widened(op) else 0
    return WEIGHTS.get(type(op), 1) + casts


def _is_widened(op: KinaOp) -> bool:
    """Whether it computes in another dtype, between casts."""
    if isinstance(op, _IN_I8) and op.kina_type.dtype is I4:
        return True
    return isinstance(op, (*IN_F32, *_CONTRACTIONS)) and op.kina_type.dtype.is_small_float


def weight_of(operations: Iterable[Operation]) -> int:
    """How many operations these become."""
    return sum(map(weight, operations))
