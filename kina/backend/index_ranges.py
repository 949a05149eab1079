"""Which parameters are used as indices, and into what size: lets `kina run` draw legal ones."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue, Use

from kina.dialects.indexing import GatherOp, TakeAlongAxisOp
from kina.dialects.shaping import BroadcastOp, ReshapeOp
from kina.dialects.types import from_ir
from kina.types import Dim


def index_ranges(function: FuncOp) -> tuple[tuple[Dim, ...], ...]:
    """Per parameter, the sizes that it must stay below; empty where it is no index.

    Expects a function without calls (after inline-calls). Indices that are computed are not seen.
    """
    return tuple(tuple(dict.fromkeys(_sizes(argument))) for argument in function.args)


def _sizes(value: SSAValue) -> list[Dim]:
    found: list[Dim] = []
    for use in value.uses:
        op = use.operation
        if isinstance(op, BroadcastOp | ReshapeOp):
            found += _sizes(op.results[0])
        elif _is_indices(use):
            axis = op.axis_value if isinstance(op, TakeAlongAxisOp) else 0
            found.append(from_ir(op.operands[0].type).dims[axis])
    return found


def _is_indices(use: Use) -> bool:
    return isinstance(use.operation, TakeAlongAxisOp | GatherOp) and use.index == 1
