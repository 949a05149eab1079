"""Which results depend on which parameters through a contest, an argmax or argmin.

Reverse mode has to refuse these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kina.frontend.source import Extent
from kina.frontend.typed import (
    Apply,
    CallFunction,
    Constant,
    Differentiate,
    FoldFunction,
    Take,
    TakeSize,
    TypedFunction,
    Value,
)
from kina.frozen import frozen
from kina.ops import CONTESTS
from kina.rules.folds import settle


@dataclass(frozen=True, slots=True, order=True)
class Contest:
    """An argmax or argmin, and where it stands."""

    extent: Extent
    word: str


Paths = Mapping[int, Contest]
"""For a value: the parameters that it depends on through a contest, and that contest."""


@frozen(slots=True)
class _Origin:
    """The parameters that a value depends on, and those that it depends on through a contest."""

    parameters: frozenset[int]
    contests: Paths


_NOTHING = _Origin(frozenset(), {})


class ContestPaths:
    """The `Paths` of a program's functions; callees are added before their callers."""

    def __init__(self, functions: Sequence[TypedFunction]) -> None:
        self._functions = functions
        self._seen = 0
        self._summaries: dict[str, list[_Origin]] = {}

    def of(self, name: str) -> list[Paths]:
        """One `Paths` per result; what was added to the functions since is read first, once."""
        for function in self._functions[self._seen :]:
            if function.signature.name not in self._summaries:
                self._summaries[function.signature.name] = _summary(function, self._summaries)
        self._seen = len(self._functions)
        return [origin.contests for origin in self._summaries[name]]


def _summary(function: TypedFunction, known: Mapping[str, list[_Origin]]) -> list[_Origin]:
    origins: dict[Value, _Origin] = {
        value: _Origin(frozenset({position}), {})
        for position, value in enumerate(function.parameters)
    }
    for instruction in function.body:
        match instruction:
            case Constant() | TakeSize():
                origins[instruction.result] = _NOTHING
            case Apply(op="stop_gradient"):
                origins[instruction.result] = _NOTHING
            case Take():
                origins[instruction.result] = _union([origins[v] for v in instruction.operands])
            case Apply():
                found = _union([origins[operand] for operand in instruction.operands])
                word = instruction.attributes.get("op")
                if word in CONTESTS:
                    contest = Contest(instruction.extent, str(word))
                    new = dict.fromkeys(found.parameters, contest)
                    found = _Origin(found.parameters, {**new, **found.contests})
                origins[instruction.result] = found
            case CallFunction() | Differentiate():
                origins.update(_call(instruction, origins, known[instruction.callee]))
            case FoldFunction():
                origins.update(_fold(instruction, origins, known[instruction.callee]))
    if len(function.results) != len(function.signature.results):
        return [_NOTHING] * len(function.signature.results)  # its error is reported elsewhere
    return [origins[result] for result in function.results]


def _call(
    call: CallFunction | Differentiate,
    origins: Mapping[Value, _Origin],
    callee: Sequence[_Origin],
) -> dict[Value, _Origin]:
    operands = [origins[operand] for operand in call.operands]
    found = [_through_call(origin, operands) for origin in callee]
    # A gradient may depend on everything that the function takes.
    found += [_union(operands)] * (len(call.results) - len(found))
    return dict(zip(call.results, found, strict=True))


def _fold(
    fold: FoldFunction, origins: Mapping[Value, _Origin], layer: Sequence[_Origin]
) -> dict[Value, _Origin]:
    """The origin of x grows until it holds for every layer."""
    x, *others = (origins[operand] for operand in fold.operands)

    def next_layer(carried: Sequence[_Origin]) -> Sequence[_Origin]:
        return [_union([*carried, _through_call(layer[0], [*carried, *others])])]

    operands = [*settle([x], next_layer), *others]
    found = [_through_call(origin, operands) for origin in layer]
    return dict(zip(fold.results, found, strict=True))


def _through_call(origin: _Origin, operands: Sequence[_Origin]) -> _Origin:
    """The origin of a call's result, given that of the callee's and those of the arguments."""
    read = _union([operands[position] for position in sorted(origin.parameters)])
    places = {
        parameter: place
        for position, place in origin.contests.items()
        for parameter in operands[position].parameters
    }
    return _Origin(read.parameters, {**places, **read.contests})


def _union(origins: Sequence[_Origin]) -> _Origin:
    if len(origins) == 1:
        return origins[0]
    contests = {key: at for origin in reversed(origins) for key, at in origin.contests.items()}
    return _Origin(frozenset[int]().union(*(origin.parameters for origin in origins)), contests)
