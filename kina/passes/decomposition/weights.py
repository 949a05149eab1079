"""How much an operation of kina IR is: the operations that `decompose-kina` makes of it."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Operation

from kina.dialects.base import KinaOp
from kina.dialects.elementwise import BinaryOp, UnaryOp
from kina.dtypes import I4

_IN_F32 = frozenset(
    f"kina.{name}"
    for name in (
        *("clamp", "softmax", "log_softmax", "logsumexp", "rms_norm", "layer_norm"),
        *("reduce", "reduce_keep", "cumsum"),
    )
)

WEIGHTS: dict[str, int] = {
    "kina.clamp": 2,
    "kina.xlogy": 6,
    "kina.softmax": 7,
    "kina.log_softmax": 8,
    "kina.log_sigmoid": 8,
    "kina.softplus": 8,
    "kina.logsumexp": 13,
    "kina.sigmoid": 13,
    "kina.gelu": 14,
    "kina.silu": 17,
    "kina.gelu_tanh": 25,
    "kina.rms_norm": 29,
    "kina.layer_norm": 35,
}
"""Of F32; all others are one operation."""

_CONTRACTIONS = frozenset({"kina.matmul", "kina.contract"})
_IN_I8 = _CONTRACTIONS | {"kina.cumsum"}
"""What computes in I8 where it is of I4, between casts."""


def is_in_f32(op: Operation) -> bool:
    """Whether an operation computes in F32 where it is of small floats, between casts."""
    return isinstance(op, UnaryOp | BinaryOp) or op.name in _IN_F32


def weight(op: Operation) -> int:
    """How many operations it becomes."""
    casts = len(op.operands) + 1 if isinstance(op, KinaOp) and _is_widened(op) else 0
    return WEIGHTS.get(op.name, 1) + casts


def _is_widened(op: KinaOp) -> bool:
    """Whether it computes in another dtype, between casts."""
    dtype = op.kina_type.dtype
    if op.name in _IN_I8 and dtype is I4:
        return True
    return dtype.is_small_float and (is_in_f32(op) or op.name in _CONTRACTIONS)


def weight_of(operations: Iterable[Operation]) -> int:
    """How many operations these become."""
    return sum(map(weight, operations))
