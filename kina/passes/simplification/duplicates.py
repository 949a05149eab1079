"""Equal operations become one."""

from __future__ import annotations

from collections.abc import Hashable

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.rewriter import Rewriter

from kina.dialects.base import KinaOp
from kina.dialects.elementwise import ConstantOp
from kina.dialects.indexing import CheckIndicesOp
from kina.dialects.layout import CheckWindowOp, SizeOp

_Merged = KinaOp | ConstantOp | CheckIndicesOp | CheckWindowOp | SizeOp


def merge_duplicates(function: FuncOp) -> None:
    """Keep the first of equal operations.

    A checked operation counts as well: where the first one's check held, that of the second holds.
    """
    seen: dict[Hashable, Operation] = {}
    for op in list(function.body.block.ops):
        if not isinstance(op, _Merged):
            continue
        first = seen.setdefault(_key(op), op)
        if first is not op:
            _keep_common_notes(first, op)
            Rewriter.replace_op(op, [], first.results)


def _keep_common_notes(first: Operation, op: Operation) -> None:
    """What passes noted about the uses of one of them need not hold for those of the other."""
    for name, value in list(first.attributes.items()):
        if op.attributes.get(name) != value:
            del first.attributes[name]


def _key(op: _Merged) -> Hashable:
    """Equal for operations that give or check the same; a check's axis is only in its message."""
    if isinstance(op, CheckIndicesOp):
        return (type(op), op.indices, op.size)
    if isinstance(op, CheckWindowOp):
        return (type(op), op.start, op.size, op.within)
    properties = tuple(sorted(op.properties.items()))
    return (type(op), op.operands, properties, op.result_types)
