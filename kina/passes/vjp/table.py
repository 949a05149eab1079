"""Which rule differentiates which operation."""

from __future__ import annotations

from xdsl.ir import Operation

from kina.dialects.contraction import ContractOp, MatmulOp
from kina.dialects.elementwise import CastOp
from kina.dialects.fibers import LayerNormOp, LogSumExpOp, RmsNormOp
from kina.dialects.indexing import GatherOp, SelectAlongAxisOp, TakeAlongAxisOp
from kina.dialects.internal import ScatterAddOp, ScatterAlongAxisOp
from kina.dialects.kina import OP_CLASSES
from kina.dialects.layout import (
    ConcatOp,
    OverwriteOp,
    SliceOp,
    TransposeOp,
    UpdateOp,
    WindowOp,
)
from kina.dialects.normalize import LogSoftmaxOp, SoftmaxOp
from kina.dialects.reduce import ReduceKeepOp, ReduceOp
from kina.dialects.scan import CumsumOp, RecurrenceOp, ReverseOp
from kina.dialects.selection import PutPlacesOp, TakePlacesOp
from kina.dialects.shaping import BroadcastOp, ReshapeOp
from kina.passes.vjp import (
    activations,
    contraction,
    elementwise,
    fibers,
    indexing,
    layout,
    normalize,
    reduce,
    scan,
    selection,
    shaping,
)
from kina.passes.vjp.builder import Rule

RULES: dict[type[Operation], Rule] = {
    **{
        op: elementwise.ELEMENTWISE[name]
        for name, op in OP_CLASSES.items()
        if name in elementwise.ELEMENTWISE
    },
    **{OP_CLASSES[name]: rule for name, rule in activations.ACTIVATIONS.items()},
    CastOp: elementwise.cast,
    BroadcastOp: shaping.broadcast,
    ReshapeOp: shaping.reshape,
    ReduceOp: reduce.reduction,
    ReduceKeepOp: reduce.reduction,
    SoftmaxOp: normalize.softmax,
    LogSoftmaxOp: normalize.log_softmax,
    LogSumExpOp: fibers.logsumexp,
    RmsNormOp: fibers.rms_norm,
    LayerNormOp: fibers.layer_norm,
    TakeAlongAxisOp: indexing.take_along_axis,
    SelectAlongAxisOp: indexing.take_along_axis,
    GatherOp: indexing.gather,
    ScatterAlongAxisOp: indexing.scatter_along_axis,
    ScatterAddOp: indexing.scatter_add,
    MatmulOp: contraction.matmul,
    ContractOp: contraction.contract,
    TransposeOp: layout.transpose,
    SliceOp: layout.slice_,
    WindowOp: layout.slice_,
    ConcatOp: layout.concat,
    UpdateOp: layout.update,
    OverwriteOp: layout.update,
    CumsumOp: scan.cumsum,
    ReverseOp: scan.reverse,
    RecurrenceOp: scan.recurrence,
    TakePlacesOp: selection.take_places,
    PutPlacesOp: selection.put_places,
}
"""Every operation whose result may be floating; comparisons and constants carry no gradient."""
