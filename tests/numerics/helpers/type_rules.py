"""Operands and arguments that a type rule takes, and how it refuses others."""

from __future__ import annotations

import pytest

from kina.dtypes import DTYPES, I32
from kina.ops import OPS, Family
from kina.rules.infer import infer
from kina.rules.parts import Attribute, RuleError
from kina.types import Dim, Placement, TensorType

HOST, DEVICE = Placement.HOST, Placement.DEVICE
UNARY = [op.name for op in OPS.values() if op.family is Family.UNARY]
BINARY = [op.name for op in OPS.values() if op.family is Family.BINARY]
COMPARED = [op.name for op in OPS.values() if op.family is Family.COMPARE]
NORMALIZE = [op.name for op in OPS.values() if op.family is Family.NORMALIZE]


def t(*dims: Dim, dtype: str = "F32", place: Placement = HOST) -> TensorType:
    return TensorType(DTYPES[dtype], dims, place)


ATTRIBUTES: dict[str, dict[str, Attribute]] = {
    "broadcast": {"dims": (2, 3)},
    "reshape": {"dims": (3, 2)},
    "reduce": {"op": "sum", "axis": 1},
    "reduce_keep": {"op": "sum", "axis": 1},
    "softmax": {"axis": 1},
    "log_softmax": {"axis": 1},
    "cumsum": {"axis": 1},
    "logsumexp": {"axis": 1},
    "rms_norm": {"axis": 1, "eps": 1e-5},
    "layer_norm": {"axis": 1, "eps": 1e-5},
    "take_along_axis": {"axis": 1},
    "cast": {"dtype": I32},
    "iota": {"dims": (2, 3), "axis": 1},
    "random_uniform": {"dims": (2, 3)},
    "transpose": {"axes": (1, 0)},
    "slice": {"axis": 1, "size": 2},
    "concat": {"axis": 1},
    "update": {"axis": 1},
    "top_k": {"k": 2, "axis": 1},
}
"""Arguments that fit an operand of shape [2, 3]."""


def usual(op: str) -> str:
    """A dtype that the operation takes."""
    return next((name for name in ("F32", "I32", "Bool", "I64") if name in OPS[op].dtypes), "F32")


def operands(op: str, dtype: str | None = None, place: Placement = HOST) -> list[TensorType]:
    """Operands of shape [2, 3] that are right in everything else."""
    dtype = usual(op) if dtype is None else dtype
    first = t(2, 3, dtype=dtype, place=place)
    if OPS[op].family is Family.INDEXING:
        return [first, t(2, dtype="I64", place=place)]
    if OPS[op].family is Family.CHOICE:
        return [first, *[t(2, 3, place=place)] * 2]
    if OPS[op].family is Family.FIBER:
        parameter = t(3, dtype=first.dtype.name, place=place)
        return [first, *[parameter] * (len(OPS[op].operands) - 1)]
    if OPS[op].family is Family.CONTRACTION:
        return [first, t(3, 4, dtype=dtype, place=place)]
    if OPS[op].family is Family.RANDOM:
        return [t(2, dtype=dtype, place=place)]
    if OPS[op].variadic:
        return [first] * 3
    where = t(dtype="I64", place=place)
    return [where if role in OPS[op].named else first for role in OPS[op].operands]


def refusal(op: str, types: list[TensorType], /, **attributes: Attribute) -> RuleError:
    with pytest.raises(RuleError) as caught:
        infer(op, types, attributes)
    assert caught.value.message.startswith(op.split("_keep", maxsplit=1)[0]), caught.value.message
    return caught.value


REDUCED = {0: (4, "V"), 1: ("B", "V"), 2: ("B", 4)}
"""[B, 4, V] without each of its axes."""
