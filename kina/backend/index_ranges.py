"""Which parameters are used as indices, and into what size: lets `kina run` draw legal ones."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue, Use
from xdsl.traits import SymbolTable

from kina.dialects.call import CallOp, call_binding
from kina.dialects.fold import FoldOp
from kina.dialects.indexing import GatherOp, TakeAlongAxisOp
from kina.dialects.layout import SliceOp, UpdateOp
from kina.dialects.shaping import BroadcastOp, ReshapeOp
from kina.dialects.types import from_ir
from kina.dims import add, may_be_negative, substitute, subtract
from kina.types import Dim

Ranges = tuple[tuple[Dim, ...], ...]


def index_ranges(function: FuncOp) -> Ranges:
    """Per parameter, the sizes that it must stay below; empty where it is no index.

    Calls are followed. Indices that are computed are not seen.
    """
    return _Ranges().of(function)


class _Ranges:
    """Looks at each function once."""

    def __init__(self) -> None:
        self._known: dict[str, Ranges] = {}

    def of(self, function: FuncOp) -> Ranges:
        """Per parameter, the sizes that it must stay below."""
        name = function.sym_name.data
        if name not in self._known:
            sizes = (self._sizes(argument) for argument in function.args)
            self._known[name] = tuple(tuple(dict.fromkeys(each)) for each in sizes)
        return self._known[name]

    def _sizes(self, value: SSAValue) -> list[Dim]:
        found: list[Dim] = []
        for use in value.uses:
            op = use.operation
            if isinstance(op, BroadcastOp | ReshapeOp):
                found += self._sizes(op.results[0])
            elif isinstance(op, CallOp | FoldOp):
                found += self._called(op, use.index)
            elif isinstance(op, SliceOp | UpdateOp):
                if value is op.position:
                    found.append(_starts(op))
            elif _is_indices(use):
                axis = op.axis_value if isinstance(op, TakeAlongAxisOp) else 0
                found.append(from_ir(op.operands[0].type).dims[axis])
        return found

    def _called(self, call: CallOp | FoldOp, position: int) -> list[Dim]:
        callee = SymbolTable.lookup_symbol(call, call.callee)
        assert isinstance(callee, FuncOp)
        binding = call.binding(callee) if isinstance(call, FoldOp) else call_binding(call, callee)
        sizes = self.of(callee)[position]
        return [substitute(size, binding) for size in sizes]


def _starts(op: SliceOp | UpdateOp) -> Dim:
    """How many starts a window has; where that is known at run time only, 0 is one."""
    starts = add(subtract(op.whole.dims[op.axis_value], op.size), 1)
    return 1 if may_be_negative(starts) else starts


def _is_indices(use: Use) -> bool:
    return isinstance(use.operation, TakeAlongAxisOp | GatherOp) and use.index == 1
