"""Which updates may write into the memory of what they update, and in which order ops then run.

An update *takes* its operand if that has memory of its own, or is a parameter whose caller may
say that it is the result, and if all else that reads the operand can be done before. What takes a
parameter copies it first, unless it is the result's memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from itertools import pairwise

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.traits import Pure

from kina.dialects.layout import ConcatOp, OverwriteOp
from kina.errors import KinaTypeError
from kina.passes.lowering.contracts import (
    Contract,
    Contracts,
    Pair,
    callees_of,
    checked_operands,
    checked_parameters,
    passed_on,
)


@dataclass
class Updates:
    """The operations of a function in the order in which they are to run."""

    block: Block
    contracts: Contracts
    """Of what the function calls."""
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
        if others and any(self._is_checked_on(reached, later) for reached in later):
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
            if not any(self._is_checked_on(op, written) for op in written):
                found[root.index] = position
        return sorted((self._passed_on(last) | found).items())

    def _passed_on(self, end: ReturnOp) -> dict[int, int]:
        """The pairs of what is called."""
        found: dict[int, int] = {}
        for op in self._ops:
            for parameter, result in passed_on(op, self.contracts):
                written = _data_reached([op]) - {op}
                if result in end.operands and not any(
                    self._is_checked_on(other, {op, *written}) for other in written
                ):
                    found[parameter.index] = end.operands.index(result)
        return found

    def _is_checked_on(self, op: Operation, written: AbstractSet[Operation]) -> bool:
        """Whether an operation can fail by what others compute."""
        return any(value.owner in written for value in checked_operands(op, self.contracts))

    def _root(self, value: SSAValue) -> tuple[SSAValue, list[Operation]]:
        """What a chain of updates that take each other's results starts from."""
        updates: list[Operation] = []
        while isinstance(op := value.owner, OverwriteOp) and op in self.taking:
            updates.append(op)
            value = op.operand
        return value, updates


def contracts_of(functions: Mapping[str, FuncOp]) -> Contracts:
    """What callers of kina functions may rely on; without recursion: chains may be long.

    Raises KinaTypeError for functions that call each other.
    """
    known: dict[str, Contract] = {}
    begun: set[str] = set()
    pending = list(functions)
    while pending:
        name = pending[-1]
        missing = [callee for callee in callees_of(functions[name]) if callee not in known]
        if name not in known and missing:
            if name in begun:
                text = f"lower-kina: @{name} calls itself, expected other functions only: "
                raise KinaTypeError(text + "the language has no recursion")
            begun.add(name)
            pending += missing
            continue
        pending.pop()
        if name not in known:
            known[name] = _contract(functions[name], known)
    return known


def _contract(function: FuncOp, known: Contracts) -> Contract:
    if len(function.body.blocks) != 1:
        return Contract()
    pairs = Updates(function.body.block, known).pairs()
    return Contract(pairs, checked_parameters(function, known))


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
