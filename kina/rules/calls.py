"""The type rule of a call: the callee's symbols, bound to dimensions of the caller.

Used by the dialect's call operation and by inlining.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kina.dims import Dim, DimError, is_derived, is_possible, is_symbol, symbols_of
from kina.dims import substitute as substitute_dim
from kina.errors import counted
from kina.rules.parts import RuleError
from kina.types import TensorType, format_dims

Binding = Mapping[str, Dim]
"""What each symbol of the callee stands for in the caller."""


def substitute(type_: TensorType, binding: Binding) -> TensorType:
    """`type_` with every symbol replaced; a `RuleError` for a symbol that nothing binds."""
    for symbol in type_.symbols:
        if symbol not in binding:
            raise RuleError(f"symbol {symbol} of {type_} is not bound by any parameter")
    return type_.with_dims([_substituted(dim, binding) for dim in type_.dims])


def _substituted(dim: Dim, binding: Binding) -> Dim:
    """A dimension of the callee in the caller; a `RuleError` for one that cannot be."""
    try:
        found = substitute_dim(dim, binding)
    except DimError as error:
        raise RuleError(f"{dim} with {_listed(dim, binding)}: {error}") from None
    if is_possible(found):
        return found
    wanted = "at least 1" if isinstance(found, int) else "a size"
    raise RuleError(f"{dim} is {found} with {_listed(dim, binding)}, expected {wanted}")


def _listed(dim: Dim, binding: Binding) -> str:
    return ", ".join(f"{symbol} = {binding[symbol]}" for symbol in symbols_of(dim))


def bind(
    callee: str,
    parameters: Sequence[TensorType],
    arguments: Sequence[TensorType],
    sizes: Binding | None = None,
    called: Sequence[str] | None = None,
) -> dict[str, Dim]:
    """The binding under which `arguments` are what `callee` takes.

    `sizes` are the symbols that `size` parameters bind. A dimension that is one symbol binds it,
    one that is computed is compared once its symbols are bound. `called` says what messages call
    each argument; by default they are counted. A `RuleError` blames the first argument (by
    position) that does not fit.
    """
    if len(parameters) != len(arguments):
        raise RuleError(
            f"{callee} takes {counted(len(parameters), 'argument')}, "
            f"but {len(arguments)} {'is' if len(arguments) == 1 else 'are'} given"
        )
    binding: dict[str, Dim] = dict(sizes or {})
    names = called or [f"argument {position + 1}" for position in range(len(arguments))]
    later: list[int] = []
    for position, (parameter, argument) in enumerate(zip(parameters, arguments, strict=True)):
        _bind_one(binding, parameter, argument)
        if _is_open(parameter, binding):
            later.append(position)
        else:
            _compare(callee, names, position, parameter, argument, binding)
    for position in later:
        _compare(callee, names, position, parameters[position], arguments[position], binding)
    return binding


def _bind_one(binding: dict[str, Dim], parameter: TensorType, argument: TensorType) -> None:
    """Bind the symbols that `parameter` is the first to mention."""
    if parameter.rank != argument.rank:
        return
    for wanted, given in zip(parameter.dims, argument.dims, strict=True):
        if isinstance(wanted, str) and is_symbol(wanted):
            binding.setdefault(wanted, given)


def _is_open(parameter: TensorType, binding: Binding) -> bool:
    """Whether a dimension is computed from symbols that a later argument binds."""
    return any(
        is_derived(dim) and any(symbol not in binding for symbol in symbols_of(dim))
        for dim in parameter.dims
    )


def _compare(
    callee: str,
    names: Sequence[str],
    position: int,
    parameter: TensorType,
    argument: TensorType,
    binding: Binding,
) -> None:
    try:
        expected = _as_far_as_bound(parameter, binding)
    except RuleError as error:
        message = f"{callee}: {names[position]}: {error.message}"
        raise RuleError(message, blame=position) from None
    if expected != argument:
        raise RuleError(
            f"{callee}: {names[position]} has type {argument}, expected {expected}"
            f"{_explain(parameter, binding)}",
            blame=position,
        )


def _as_far_as_bound(parameter: TensorType, binding: Binding) -> TensorType:
    return parameter.with_dims(
        [
            _substituted(dim, binding) if binding.keys() >= set(symbols_of(dim)) else dim
            for dim in parameter.dims
        ]
    )


def _explain(parameter: TensorType, binding: Binding) -> str:
    bound = [f"{name} = {binding[name]}" for name in parameter.symbols if name in binding]
    return f" ({format_dims(parameter.dims)} with {', '.join(bound)})" if bound else ""
