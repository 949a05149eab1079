"""Which updates may write into the memory of what they update, and in which order ops then run.

An update *takes* its operand if that has memory of its own, or is a parameter whose caller may
say that it is the result, and if all else that reads the operand can be done before. What takes a
parameter copies it first, unless it is the result's memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import pairwise

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import Pure

from kina.dialects.indexing import CheckIndicesOp, GatherOp, TakeAlongAxisOp
from kina.dialects.layout import ConcatOp, OverwriteOp

Pair = tuple[int, int]
"""A parameter and a result that may be one memory."""


@dataclass
class Updates:
    """The operations of a function in the order in which they are to run."""

    block: Block
    taking: set[Operation] = field(default_factory=set[Operation])
    """The updates that take their operand."""
    _after: dict[Operation, list[Operation]] = field(
        default_factory=dict[Operation, list[Operation]]
    )
    """What must run after an operation without reading it."""

    def __post_init__(self) -> None:
        self._ops = list(self.block.ops)
        effects = [op for op in self._ops if not op.has_trait(Pure)]
        for op, following in pairwise(effects):
            self._after.setdefault(op, []).append(following)
        for op in self._ops:
            if isinstance(op, OverwriteOp) and self._takes(op):
                self.taking.add(op)
                for reader in _others(op):
                    self._after.setdefault(reader, []).append(op)

    def _takes(self, op: OverwriteOp) -> bool:
        others = _others(op)
        if not _is_memory(op.operand) or any(isinstance(reader, ReturnOp) for reader in others):
            return False
        if op.operand in (op.new, op.at):
            return False
        later = self._reached(op)
        if others and any(_is_checked_on(reached, later) for reached in later):
            return False  # what a check needs runs before all else
        return not any(reader in later for reader in others)

    def _reached(self, op: Operation) -> set[Operation]:
        """What runs after an operation in any case, itself included."""
        reached, pending = {op}, [op]
        while pending:
            for following in self._following(pending.pop()):
                if following not in reached:
                    reached.add(following)
                    pending.append(following)
        return reached

    def _following(self, op: Operation) -> Iterator[Operation]:
        yield from _users(op)
        yield from self._after.get(op, ())

    @property
    def order(self) -> list[Operation]:
        """Every operation, as early as it stands in the program where nothing forbids that."""
        place = {op: number for number, op in enumerate(self._ops)}
        waits = dict.fromkeys(self._ops, 0)
        for op in self._ops:
            for following in self._following(op):
                waits[following] += 1
        ready = [place[op] for op, count in waits.items() if count == 0]
        heapify(ready)
        done: list[Operation] = []
        while ready:
            done.append(self._ops[heappop(ready)])
            for following in self._following(done[-1]):
                waits[following] -= 1
                if waits[following] == 0:
                    heappush(ready, place[following])
        return done

    def pairs(self) -> list[Pair]:
        """Which parameter may be the memory of which result.

        Not where a check, or a call, needs what is written: if it failed, the parameter would have
        changed.
        """
        last = self.block.last_op
        assert isinstance(last, ReturnOp)
        found: dict[int, int] = {}
        for position, result in enumerate(last.operands):
            root, updates = self._root(result)
            if not updates or not isinstance(root, BlockArgument) or root.index in found:
                continue
            written = _data_reached(updates)
            if not any(_is_checked_on(op, written) for op in written):
                found[root.index] = position
        return sorted(found.items())

    def _root(self, value: SSAValue) -> tuple[SSAValue, list[Operation]]:
        """What a chain of updates that take each other's results starts from."""
        updates: list[Operation] = []
        while isinstance(op := value.owner, OverwriteOp) and op in self.taking:
            updates.append(op)
            value = op.operand
        return value, updates


def aliases(function: FuncOp) -> list[Pair]:
    """Which parameter of a kina function may be the memory of which result."""
    return Updates(function.body.block).pairs() if len(function.body.blocks) == 1 else []


def _is_memory(value: SSAValue) -> bool:
    return isinstance(value, BlockArgument) or isinstance(value.owner, OverwriteOp | ConcatOp)


def _users(op: Operation) -> list[Operation]:
    return list(dict.fromkeys(use.operation for result in op.results for use in result.uses))


def _others(op: OverwriteOp) -> list[Operation]:
    """What else reads the operand of an update."""
    users = (use.operation for use in op.operand.uses)
    return [user for user in dict.fromkeys(users) if user is not op]


def _data_reached(sources: Iterable[Operation]) -> set[Operation]:
    """The operations that depend on what others compute, these included."""
    reached = set(sources)
    pending = list(reached)
    while pending:
        for user in _users(pending.pop()):
            if user not in reached:
                reached.add(user)
                pending.append(user)
    return reached


def _is_checked_on(op: Operation, written: AbstractSet[Operation]) -> bool:
    """Whether an operation can fail by what others compute."""
    if op.has_trait(Pure) or isinstance(op, ReturnOp):
        return False
    return any(operand.owner in written for operand in _checked(op))


def _checked(op: Operation) -> Sequence[SSAValue]:
    if isinstance(op, GatherOp | TakeAlongAxisOp | CheckIndicesOp):
        return [op.indices]
    return op.operands
