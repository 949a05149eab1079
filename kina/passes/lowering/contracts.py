"""What a caller may rely on: which memory a function updates, and what its checks depend on.

A parameter and a result that may be one memory stay so through calls and folds: the function is
given the caller's memory, or the part of it that belongs to a layer. In a fold a check that depends
on what changes from layer to layer forbids that, since it may fail after a layer has written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from xdsl.dialects.func import CallOp as FuncCallOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.traits import Pure

from kina.dialects.call import CallOp
from kina.dialects.fold import FoldOp
from kina.dialects.indexing import CheckIndicesOp, GatherOp, TakeAlongAxisOp
from kina.dialects.layout import CheckWindowOp, SliceOp, UpdateOp
from kina.frozen import frozen
from kina.passes.inline_calls import USES, callee_name

Pair = tuple[int, int]
"""A parameter and a result that may be one memory."""

Call = CallOp | FuncCallOp | FoldOp

_INDICES = (GatherOp, TakeAlongAxisOp, CheckIndicesOp)


@frozen
class Contract:
    """One function."""

    shared: Sequence[Pair] = ()
    checked: frozenset[int] = frozenset()
    """The parameters that decide whether a check fails, beside sizes."""


Contracts = Mapping[str, Contract]


def checked_operands(op: Operation, contracts: Contracts) -> Sequence[SSAValue]:
    """What decides whether an operation fails."""
    if op.has_trait(Pure) or isinstance(op, ReturnOp):
        return ()
    if isinstance(op, _INDICES):
        return (op.indices,)
    if isinstance(op, SliceOp | CheckWindowOp):
        return (op.start,)
    if isinstance(op, UpdateOp):
        return (op.at,)
    if not isinstance(op, Call):
        return op.operands
    checked = contracts[callee_name(op)].checked
    if isinstance(op, FoldOp) and any(position < len(op.carried) for position in checked):
        return op.operands  # what is carried may come from any of them
    return [op.operands[position] for position in sorted(checked)]


def checked_parameters(function: FuncOp, contracts: Contracts) -> frozenset[int]:
    """The parameters that decide whether a check of a function fails."""
    pending = [v for op in function.walk() for v in checked_operands(op, contracts)]
    seen: set[SSAValue] = set()
    while pending:
        value = pending.pop()
        if value not in seen:
            seen.add(value)
            owner = value.owner
            pending += owner.operands if isinstance(owner, Operation) else ()
    return frozenset(v.index for v in seen if isinstance(v, BlockArgument))


def passed_on(op: Operation, contracts: Contracts) -> Iterator[tuple[BlockArgument, SSAValue]]:
    """The parameters that a call may update in place, each with the result that it then is."""
    if not isinstance(op, Call):
        return
    contract = contracts[callee_name(op)]
    for position, result in contract.shared:
        value = op.operands[position]
        alone = isinstance(value, BlockArgument) and len(list(value.uses)) == 1
        if alone and _is_layer(op, position, result, contract):
            assert isinstance(value, BlockArgument)
            yield value, op.results[result]


def _is_layer(op: Call, position: int, result: int, contract: Contract) -> bool:
    """Whether the parts of layers are updated, if `op` is a fold, and only ever all or none."""
    if not isinstance(op, FoldOp):
        return True
    changing = len(op.carried) + len(op.over)
    is_layered = len(op.carried) <= position < changing and result >= len(op.carried)
    return is_layered and all(checked >= changing for checked in contract.checked)


def callees_of(function: FuncOp) -> list[str]:
    """The functions that a function needs, those that are called or folded."""
    return list(dict.fromkeys(callee_name(op) for op in function.walk() if isinstance(op, USES)))
