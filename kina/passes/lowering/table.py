"""Which function lowers which operation: primitive operations only (see `decompose-kina`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.dialects.func import CallOp as FuncCallOp
from xdsl.ir import Operation

from kina.dialects.call import CallOp
from kina.dialects.choice import SelectOp
from kina.dialects.contraction import ContractOp
from kina.dialects.elementwise import CastOp, ConstantOp, StopGradientOp
from kina.dialects.fold import FoldOp
from kina.dialects.indexing import CheckIndicesOp, GatherOp, SelectAlongAxisOp, TakeAlongAxisOp
from kina.dialects.internal import ScatterAddOp, ScatterAlongAxisOp
from kina.dialects.kina import OP_CLASSES
from kina.dialects.random import RandomUniformOp
from kina.dialects.reduce import ReduceKeepOp, ReduceOp
from kina.dialects.scan import CumsumOp, RecurrenceOp, ReverseOp
from kina.dialects.selection import PutPlacesOp, TakePlacesOp, TopKOp
from kina.dialects.shaping import BroadcastOp, ReshapeOp
from kina.ops import OPS
from kina.passes.lowering.calls import lower_call
from kina.passes.lowering.casts import lower_cast
from kina.passes.lowering.constants import lower_constant
from kina.passes.lowering.context import Lowering
from kina.passes.lowering.contraction import lower_contract
from kina.passes.lowering.elementwise import lower_elementwise, lower_select, lower_stop_gradient
from kina.passes.lowering.folds import lower_fold
from kina.passes.lowering.gradients import (
    lower_scatter_add,
    lower_scatter_along_axis,
)
from kina.passes.lowering.indexing import (
    lower_check_indices,
    lower_gather,
    lower_select_along_axis,
    lower_take_along_axis,
)
from kina.passes.lowering.layout import LAYOUT
from kina.passes.lowering.random import lower_random_uniform
from kina.passes.lowering.reductions import lower_reduction
from kina.passes.lowering.scan import lower_cumsum, lower_recurrence, lower_reverse
from kina.passes.lowering.selection import lower_put_places, lower_take_places, lower_top_k
from kina.passes.lowering.shaping import lower_broadcast, lower_reshape

LowerOp = Callable[[Lowering, Any], None]

LOWERINGS: dict[type[Operation], LowerOp] = {
    **{
        OP_CLASSES[op.name]: lower_elementwise
        for op in OPS.values()
        if op.is_elementwise and not op.composite and op.name in OP_CLASSES
    },
    SelectOp: lower_select,
    StopGradientOp: lower_stop_gradient,
    CastOp: lower_cast,
    ConstantOp: lower_constant,
    BroadcastOp: lower_broadcast,
    ReshapeOp: lower_reshape,
    ReduceOp: lower_reduction,
    ReduceKeepOp: lower_reduction,
    TakeAlongAxisOp: lower_take_along_axis,
    CheckIndicesOp: lower_check_indices,
    SelectAlongAxisOp: lower_select_along_axis,
    GatherOp: lower_gather,
    ScatterAlongAxisOp: lower_scatter_along_axis,
    ScatterAddOp: lower_scatter_add,
    ContractOp: lower_contract,
    RandomUniformOp: lower_random_uniform,
    **LAYOUT,
    CumsumOp: lower_cumsum,
    ReverseOp: lower_reverse,
    RecurrenceOp: lower_recurrence,
    TopKOp: lower_top_k,
    TakePlacesOp: lower_take_places,
    PutPlacesOp: lower_put_places,
    CallOp: lower_call,
    FuncCallOp: lower_call,
    FoldOp: lower_fold,
}
