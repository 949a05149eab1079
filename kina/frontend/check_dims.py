"""Dimensions as written, and the polynomials that they are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kina.dims import MAX_SIZE, Dim, DimError, add, is_possible, multiply, subtract
from kina.frontend.ast import (
    ArgumentValue,
    Binary,
    DimExpr,
    DimProduct,
    Dims,
    DimSum,
    Identifier,
    Name,
    NumberExpr,
    Size,
)
from kina.frontend.decimals import quoted
from kina.frontend.report import Report

MAX_RANK = 64
"""NumPy's limit."""
MAX_DEPTH = 64
"""Of the expression of a size that is an argument."""


def resolve_dims(
    dims: Dims, symbols: Iterable[str] | None, report: Report
) -> tuple[Dim, ...] | None:
    """The dimensions; None after reporting those that are wrong.

    `symbols` are the names that may occur; None: any.
    """
    if len(dims.items) > MAX_RANK:
        found = f"found {len(dims.items)}"
        report.error(f"a tensor has at most {MAX_RANK} dimensions, {found}", dims.extent)
        return None
    resolved = [resolve_dim(dim, symbols, report) for dim in dims.items]
    known = tuple(dim for dim in resolved if dim is not None)
    return known if len(known) == len(resolved) else None


def bound_symbols(dims: Sequence[DimExpr], sizes: Sequence[str], report: Report) -> tuple[str, ...]:
    """The symbols of a function's parameters, after reporting those that none of them binds.

    `dims` are all dimensions of the parameters, `sizes` the names of those that are sizes.

    An unbound one is among them all the same: there is no second error about it.
    """
    bound = dict.fromkeys([*sizes, *(dim.name for dim in dims if isinstance(dim, Identifier))])
    for dim in dims:
        for name in names_in(dim):
            if name.name not in bound:
                bound[name.name] = None
                _report_only_inside(name, dim, report)
    return tuple(bound)


def _report_only_inside(name: Identifier, dim: DimExpr, report: Report) -> None:
    try:
        shown = str(_value(dim))
    except DimError:
        return
    report.error(
        f"symbol `{name.name}` occurs only inside `{shown}`, which does not bind it",
        name.extent,
        help=f"a dimension `{name.name}` of a parameter binds it, or a parameter "
        f"`{name.name}: size`",
    )


def resolve_dim(node: DimExpr, symbols: Iterable[str] | None, report: Report) -> Dim | None:
    """One dimension in normal form; None after reporting what is wrong with it."""
    unbound = _unbound(node, symbols, report)
    try:
        dim = _value(node)
    except DimError as error:
        report.error(str(error), node.extent)
        return None
    if unbound:
        return None
    if isinstance(dim, int) and dim > MAX_SIZE:
        report.error(f"a dimension is at most 2^63 - 1, found {quoted(str(dim))}", node.extent)
        return None
    if not is_possible(dim):
        found = f"found {dim}" if isinstance(dim, int) else f"and {dim} never is"
        report.error(f"a dimension is at least 1, {found}", node.extent)
        return None
    return dim


def _unbound(node: DimExpr, symbols: Iterable[str] | None, report: Report) -> bool:
    """Whether a name is none of `symbols`, which is then reported."""
    wrong = [name for name in names_in(node) if symbols is not None and name.name not in symbols]
    for name in wrong:
        help_ = report.suggest(name.name, symbols or ())
        help_ = help_ or f"a parameter `{name.name}: size` would bind it"
        report.error(
            f"symbol `{name.name}` is not bound: no parameter has a dimension of this name",
            name.extent,
            help=help_,
        )
    return bool(wrong)


def dim_expression(node: ArgumentValue, depth: int = 0) -> DimExpr | None:
    """An argument as a dimension; None if it is none."""
    if depth > MAX_DEPTH:
        return None
    match node:
        case Name():
            return Identifier(node.extent, node.name)
        case NumberExpr() if node.text.isdigit():
            return Size(node.extent, node.text)
        case Binary() if node.symbol in ("+", "-", "*"):
            left = dim_expression(node.left, depth + 1)
            right = dim_expression(node.right, depth + 1)
            if left is None or right is None:
                return None
            if node.symbol == "*":
                return DimProduct(node.extent, (left, right))
            return DimSum(node.extent, (("+", left), (node.symbol, right)))
        case _:
            return None


def names_in(node: DimExpr) -> Iterator[Identifier]:
    """Every name in a dimension, in order."""
    match node:
        case Identifier():
            yield node
        case Size():
            pass
        case DimSum():
            for _, term in node.terms:
                yield from names_in(term)
        case DimProduct():
            for factor in node.factors:
                yield from names_in(factor)


def _value(node: DimExpr) -> Dim:
    """The polynomial, whatever its values may be."""
    match node:
        case Identifier():
            return node.name
        case Size():
            return _number(node)
        case DimSum():
            first, *rest = node.terms
            total = _value(first[1])
            for sign, term in rest:
                total = (add if sign == "+" else subtract)(total, _value(term))
            return total
        case DimProduct():
            return multiply(map(_value, node.factors))


def replace_names(node: DimExpr, given: Mapping[str, DimExpr]) -> DimExpr:
    """The dimension with others in the place of some names."""
    match node:
        case Identifier():
            return given.get(node.name, node)
        case Size():
            return node
        case DimSum():
            terms = tuple((sign, replace_names(term, given)) for sign, term in node.terms)
            return DimSum(node.extent, terms)
        case DimProduct():
            factors = tuple(replace_names(factor, given) for factor in node.factors)
            return DimProduct(node.extent, factors)


def _number(node: Size) -> int:
    digits = node.text.lstrip("0") or "0"
    if len(digits) > len(str(MAX_SIZE)) or int(digits) > MAX_SIZE:
        raise DimError(f"a dimension is at most 2^63 - 1, found {quoted(digits)}")
    return int(digits)
