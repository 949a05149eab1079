"""The type rule of reverse mode: what `reverseMode` of a function takes and returns.

Used by the type checker and by the dialect's `kina.vjp`.
"""

from __future__ import annotations

from collections.abc import Sequence

from kina.rules.parts import RuleError
from kina.types import TensorType


def refusal(contest: str) -> str:
    """What is said of an argmax or argmin that a gradient would go through (seed 17's words)."""
    return f"{contest.capitalize()} VJP is unsupported."


def takes_cotangent(result: TensorType) -> bool:
    """Whether a result has a cotangent parameter: rank 0 has cotangent 1, integers have none."""
    return result.dtype.is_float and result.rank > 0


def cotangent_names(count: int, taken: Sequence[str]) -> list[str]:
    """`ct`, or `ct0, ct1, …`; a name that is taken gets a trailing `_`."""
    names = ["ct"] if count == 1 else [f"ct{position}" for position in range(count)]
    used = set(taken)
    for position, name in enumerate(names):
        while name in used:
            name += "_"
        used.add(name)
        names[position] = name
    return names


def vjp_operands(
    parameters: Sequence[TensorType], results: Sequence[TensorType]
) -> list[TensorType]:
    """The parameters, then one cotangent for each floating result of rank 1 or more."""
    return [*parameters, *(result for result in results if takes_cotangent(result))]


def vjp_results(
    parameters: Sequence[TensorType], results: Sequence[TensorType], wrt: Sequence[int]
) -> list[TensorType]:
    """The results, then one gradient for each parameter in `wrt`.

    A `RuleError` if no result is floating, or if `wrt` is not a list of distinct floating
    parameters, at least one; its blame is a parameter's position where there is one.
    """
    if not any(result.dtype.is_float for result in results):
        raise RuleError("no result is floating, so there is nothing to differentiate")
    if not wrt:
        raise RuleError("no parameter is floating, so there is nothing to differentiate by")
    for place, position in enumerate(wrt):
        if not 0 <= position < len(parameters):
            raise RuleError(f"there is no parameter {position}")
        if position in wrt[:place]:
            raise RuleError(f"parameter {position} is named twice", position)
        if not parameters[position].dtype.is_float:
            raise RuleError(
                f"parameter {position} has dtype {parameters[position].dtype}, expected a float",
                position,
            )
    return [*results, *(parameters[position] for position in wrt)]
