"""Which results of a function depend on which of its parameters, through calls and folds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Generic, TypeVar

from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue

from kina.dialects.fold import FoldOp
from kina.passes.inline_calls import CALLS, USES, callee_name
from kina.passes.tensor_builder import type_of
from kina.rules.folds import settle

T = TypeVar("T")


class Flow(ABC, Generic[T]):
    """Follows facts about values through the functions of a module; each is read once."""

    def __init__(self, functions: Mapping[str, FuncOp]) -> None:
        self._functions = functions
        self._known: dict[str, list[T]] = {}

    @abstractmethod
    def start(self, position: int, parameter: SSAValue) -> T:
        """What holds for a parameter."""

    @abstractmethod
    def step(self, op: Operation, operands: Sequence[T]) -> Sequence[T]:
        """What holds for the results of an operation that names no function."""

    @abstractmethod
    def join(self, parts: Sequence[T]) -> T:
        """What holds for a value that depends on all of these."""

    @abstractmethod
    def through(self, fact: T, operands: Sequence[T]) -> T:
        """What holds for a call's result, from what does in the callee and for the operands."""

    def of(self, name: str) -> list[T]:
        """What holds for the results of a function; without recursion: chains may be long."""
        pending = [name]
        while pending:
            last = pending[-1]
            if last in self._known:
                pending.pop()
                continue
            function = self._functions[last]
            called = (callee_name(op) for op in function.walk() if isinstance(op, USES))
            if missing := [callee for callee in called if callee not in self._known]:
                pending += missing
            else:
                self._known[last] = self._summary(function)
        return self._known[name]

    def _summary(self, function: FuncOp) -> list[T]:
        facts: dict[SSAValue, T] = {}
        for position, argument in enumerate(function.body.block.args):
            facts[argument] = self.start(position, argument)
        for op in function.body.block.ops:
            operands = [facts[operand] for operand in op.operands]
            if isinstance(op, ReturnOp):
                return operands
            facts.update(zip(op.results, self.results(op, operands), strict=True))
        return []

    def results(self, op: Operation, operands: Sequence[T]) -> Sequence[T]:
        """What holds for the results of any operation."""
        if isinstance(op, CALLS):
            return [self.through(fact, operands) for fact in self.of(callee_name(op))]
        if isinstance(op, FoldOp):
            return self._fold(op, operands)
        return self.step(op, operands)

    def _fold(self, op: FoldOp, operands: Sequence[T]) -> Sequence[T]:
        """The facts about what is carried on grow until they hold for every layer."""
        layer, count = self.of(callee_name(op)), len(op.carried)
        rest = operands[count:]

        def next_layer(carried: Sequence[T]) -> Sequence[T]:
            given = [self.through(fact, [*carried, *rest]) for fact in layer[:count]]
            return [self.join([c, g]) for c, g in zip(carried, given, strict=True)]

        carried = settle(list(operands[:count]), next_layer)
        given = [self.through(fact, [*carried, *rest]) for fact in layer]
        return [*given, *(carried[position] for position in op.kept_values)]


class FloatFlow(Flow[frozenset[int]]):
    """For each value, the floating parameters that it depends on by floating values alone."""

    def start(self, position: int, parameter: SSAValue) -> frozenset[int]:
        """A floating parameter depends on itself."""
        return frozenset({position}) if is_floating(parameter) else frozenset()

    def step(self, op: Operation, operands: Sequence[frozenset[int]]) -> Sequence[frozenset[int]]:
        """A floating result depends on every floating operand."""
        found = self.join(operands)
        return [found if is_floating(result) else frozenset() for result in op.results]

    def join(self, parts: Sequence[frozenset[int]]) -> frozenset[int]:
        """The union."""
        return frozenset[int]().union(*parts)

    def through(self, fact: frozenset[int], operands: Sequence[frozenset[int]]) -> frozenset[int]:
        """What the operands that count depend on."""
        return self.join([operands[position] for position in fact])

    def operands_of(self, op: Operation) -> Sequence[frozenset[int]]:
        """For each result of `op`, the operands that it depends on."""
        return self.results(op, [self.start(i, value) for i, value in enumerate(op.operands)])


def is_floating(value: SSAValue) -> bool:
    """Whether a value can have a gradient."""
    return type_of(value).dtype.is_float
