"""Which rule differentiates which operation."""

from __future__ import annotations

from xdsl.ir import Operation

from kina.dialects.elementwise import (
    AddOp,
    CastOp,
    DivOp,
    ExpOp,
    LogOp,
    MulOp,
    NegOp,
    SqrtOp,
    SubOp,
)
from kina.dialects.indexing import GatherOp, SelectAlongAxisOp, TakeAlongAxisOp
from kina.dialects.internal import MaskOp, ScatterAddOp, ScatterAlongAxisOp
from kina.dialects.normalize import LogSoftmaxOp, SoftmaxOp
from kina.dialects.reduce import ReduceKeepOp, ReduceOp
from kina.dialects.shaping import BroadcastOp, ReshapeOp
from kina.passes.vjp import elementwise, indexing, normalize, reduce, shaping
from kina.passes.vjp.builder import Rule

RULES: dict[type[Operation], Rule] = {
    NegOp: elementwise.neg,
    ExpOp: elementwise.exp,
    LogOp: elementwise.log,
    SqrtOp: elementwise.sqrt,
    AddOp: elementwise.add,
    SubOp: elementwise.sub,
    MulOp: elementwise.mul,
    DivOp: elementwise.div,
    CastOp: elementwise.cast,
    BroadcastOp: shaping.broadcast,
    ReshapeOp: shaping.reshape,
    ReduceOp: reduce.reduction,
    ReduceKeepOp: reduce.reduction,
    SoftmaxOp: normalize.softmax,
    LogSoftmaxOp: normalize.log_softmax,
    TakeAlongAxisOp: indexing.take_along_axis,
    SelectAlongAxisOp: indexing.take_along_axis,
    GatherOp: indexing.gather,
    ScatterAlongAxisOp: indexing.scatter_along_axis,
    ScatterAddOp: indexing.scatter_add,
    MaskOp: indexing.mask,
}
"""Every operation whose result may be floating; `kina.equal` and constants carry no gradient."""
