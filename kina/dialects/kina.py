"""The `kina` dialect: its operations, its attributes, and how to build one by its table name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.ir import Dialect, SSAValue

from kina.dialects.base import KinaOp
from kina.dialects.call import CallOp
from kina.dialects.elementwise import (
    AddOp,
    CastOp,
    ConstantOp,
    DivOp,
    ExpOp,
    LogOp,
    MulOp,
    NegOp,
    SqrtOp,
    SubOp,
)
from kina.dialects.indexing import CheckIndicesOp, GatherOp, SelectAlongAxisOp, TakeAlongAxisOp
from kina.dialects.internal import EqualOp, MaskOp, ScatterAddOp, ScatterAlongAxisOp
from kina.dialects.invoke import InvokeOp
from kina.dialects.normalize import LogSoftmaxOp, SoftmaxOp
from kina.dialects.reduce import ReduceKeepOp, ReduceOp, ReductionKindAttr
from kina.dialects.shaping import BroadcastOp, ReshapeOp
from kina.dialects.types import LayoutAttr
from kina.dialects.vjp import VjpOp
from kina.ops import OPS
from kina.rules import Attributes

OP_CLASSES: dict[str, Callable[..., KinaOp]] = {
    "neg": NegOp,
    "exp": ExpOp,
    "log": LogOp,
    "sqrt": SqrtOp,
    "add": AddOp,
    "sub": SubOp,
    "mul": MulOp,
    "div": DivOp,
    "broadcast": BroadcastOp,
    "reshape": ReshapeOp,
    "reduce": ReduceOp,
    "reduce_keep": ReduceKeepOp,
    "softmax": SoftmaxOp,
    "log_softmax": LogSoftmaxOp,
    "gather": GatherOp,
    "take_along_axis": TakeAlongAxisOp,
    "cast": CastOp,
}
"""The operation class of every row of the op table."""


def build(name: str, operands: Sequence[SSAValue], attributes: Attributes) -> KinaOp:
    """Operation `name` of the op table; a `RuleError` where its type rule is broken."""
    arguments = [attributes[key] for key in OPS[name].attributes]
    return OP_CLASSES[name](*operands, *arguments)


Kina = Dialect(
    "kina",
    [
        NegOp,
        ExpOp,
        LogOp,
        SqrtOp,
        AddOp,
        SubOp,
        MulOp,
        DivOp,
        BroadcastOp,
        ReshapeOp,
        ReduceOp,
        ReduceKeepOp,
        SoftmaxOp,
        LogSoftmaxOp,
        GatherOp,
        TakeAlongAxisOp,
        CastOp,
        ConstantOp,
        CallOp,
        CheckIndicesOp,
        SelectAlongAxisOp,
        ScatterAlongAxisOp,
        ScatterAddOp,
        EqualOp,
        MaskOp,
        VjpOp,
        InvokeOp,
    ],
    [LayoutAttr, ReductionKindAttr],
)
