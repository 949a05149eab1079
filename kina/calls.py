"""The type rule of a call: the callee's symbols, bound to dimensions of the caller.

A leaf beside `kina.rules`, used by the dialect's call operation and by inlining.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kina.rules import RuleError
from kina.types import Dim, TensorType, format_dims

Binding = Mapping[str, Dim]
"""What each symbol of the callee stands for in the caller."""


def substitute(type_: TensorType, binding: Binding) -> TensorType:
    """`type_` with every symbol replaced; a `RuleError` for a symbol that nothing binds."""
    for symbol in type_.symbols:
        if symbol not in binding:
            raise RuleError(f"symbol {symbol} of {type_} is not bound by any parameter")
    return type_.with_dims([binding[dim] if isinstance(dim, str) else dim for dim in type_.dims])


def bind(
    callee: str, parameters: Sequence[TensorType], arguments: Sequence[TensorType]
) -> dict[str, Dim]:
    """The binding under which `arguments` are what `callee` takes.

    A `RuleError` blames the first argument (by position) that does not fit.
    """
    if len(parameters) != len(arguments):
        raise RuleError(
            f"{callee} takes {len(parameters)} arguments, but {len(arguments)} are given"
        )
    binding: dict[str, Dim] = {}
    for position, (parameter, argument) in enumerate(zip(parameters, arguments, strict=True)):
        _bind_one(binding, parameter, argument)
        expected = _as_far_as_bound(parameter, binding)
        if expected != argument:
            raise RuleError(
                f"{callee}: argument {position + 1} has type {argument}, expected {expected}"
                f"{_explain(parameter, binding)}",
                blame=position,
            )
    return binding


def _bind_one(binding: dict[str, Dim], parameter: TensorType, argument: TensorType) -> None:
    """Bind the symbols that `parameter` is the first to mention."""
    if parameter.rank != argument.rank:
        return
    for wanted, given in zip(parameter.dims, argument.dims, strict=True):
        if isinstance(wanted, str):
            binding.setdefault(wanted, given)


def _as_far_as_bound(parameter: TensorType, binding: Binding) -> TensorType:
    return parameter.with_dims(
        [binding.get(dim, dim) if isinstance(dim, str) else dim for dim in parameter.dims]
    )


def _explain(parameter: TensorType, binding: Binding) -> str:
    bound = [f"{name} = {binding[name]}" for name in parameter.symbols if name in binding]
    return f" ({format_dims(parameter.dims)} with {', '.join(bound)})" if bound else ""
