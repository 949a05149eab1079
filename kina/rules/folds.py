"""The type rule of a fold: a function applied layer after layer, to slices of its operands.

Used by the type checker and by the dialect's `kina.fold`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TypeVar

from kina.errors import counted
from kina.frozen import frozen
from kina.rules.calls import bind
from kina.rules.parts import RuleError
from kina.types import Dim, TensorType

T = TypeVar("T")


@frozen(slots=True)
class FoldTypes:
    """The operands of a fold: what goes from layer to layer, what has a layer axis, the rest."""

    carried: Sequence[TensorType]
    over: Sequence[TensorType]
    whole: Sequence[TensorType]
    names: Sequence[str] = field(default=(), compare=False, kw_only=True)
    """What a program calls the operands; by default they are counted."""

    @property
    def all(self) -> list[TensorType]:
        """Every operand, in the order of the function's parameters."""
        return [*self.carried, *self.over, *self.whole]

    def name(self, position: int) -> str:
        """What a user calls an operand."""
        if self.names:
            return self.names[position]
        at = position - len(self.carried)
        if at < 0:
            return "x" if len(self.carried) == 1 else f"x[{position}]"
        if at < len(self.over):
            return f"over[{at}]"
        return f"with[{at - len(self.over)}]"

    def layers(self) -> Dim:
        """The size of the leading axis of all of `over`; a `RuleError` where there is none."""
        if not self.over:
            raise RuleError("`over` is empty, expected a tensor with a layer axis")
        for position, type_ in enumerate(self.over, len(self.carried)):
            if not type_.dims:
                message = f"{self.name(position)} has type {type_}, expected a layer axis"
                raise RuleError(message, position)
            if type_.dims[0] != self.over[0].dims[0]:
                raise RuleError(
                    f"{self.name(position)} has {type_.dims[0]} layers and "
                    f"{self.name(len(self.carried))} has {self.over[0].dims[0]}, "
                    "expected the same leading axis",
                    position,
                )
        return self.over[0].dims[0]

    def bind(
        self, callee: str, parameters: Sequence[TensorType], called: Sequence[str] | None = None
    ) -> dict[str, Dim]:
        """The callee's symbols, bound by one layer; a `RuleError` blames an operand.

        `called` says what messages call each argument; by default they are counted.
        """
        self.layers()
        if len(parameters) != len(self.all):
            raise RuleError(
                f"{callee} takes {counted(len(parameters), 'argument')}, but x, "
                f"{len(self.over)} of `over` and {len(self.whole)} of `with` are given"
            )
        layer = [layer_of(type_) for type_ in self.over]
        try:
            return bind(callee, parameters, [*self.carried, *layer, *self.whole], called=called)
        except RuleError as error:
            raise RuleError(error.message, error.blame, self._advice(error, called)) from error

    def _advice(self, error: RuleError, called: Sequence[str] | None) -> str | None:
        """Where the argument that does not fit comes from."""
        if not isinstance(error.blame, int):
            return error.help
        type_, name = self.all[error.blame], self.name(error.blame)
        what = name if not name.startswith("over") else f"one layer of {name}, which is {type_}"
        return f"{called[error.blame] if called else f'argument {error.blame + 1}'} is {what}"


def layer_of(type_: TensorType) -> TensorType:
    """One layer of a tensor with a layer axis."""
    return type_.with_dims(type_.dims[1:])


def stack_of(layers: Dim, type_: TensorType) -> TensorType:
    """As many tensors of a type as there are layers."""
    return type_.with_dims((layers, *type_.dims))


def check_invariant(
    callee: str, carried: Sequence[TensorType], given: Sequence[TensorType]
) -> None:
    """A `RuleError` unless a layer gives first what it takes first, of the same types."""
    if len(given) < len(carried):
        raise RuleError(f"{callee} gives {counted(len(given), 'result')}, expected {len(carried)}")
    for position, (before, after) in enumerate(zip(carried, given, strict=False)):
        if before != after:
            raise RuleError(
                f"{callee} makes {after} of an x of type {before}, expected the same type: "
                "what it gives is the x of the next layer",
                position,
            )


def settle(start: Sequence[T], step: Callable[[Sequence[T]], Sequence[T]]) -> Sequence[T]:
    """What facts about carried values are once they hold for every layer: `step` only adds."""
    while (after := step(start)) != start:
        start = after
    return start
