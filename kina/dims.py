"""Dimensions: integers, and polynomials over symbols in normal form.

A symbolic dimension is the text of its polynomial's normal form, `T + 1` or `3 * D`, so that two
dimensions are equal exactly if their normal forms are (seed 9: there is no solver). In it every
term is a number and symbols in alphabetical order; terms that are added come first, and of those
the ones of most symbols. A leaf: whoever computes with dimensions does so here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import prod

Dim = int | str
"""A dimension: an integer, or the normal form of a polynomial that is not constant."""

Monomial = tuple[str, ...]
"""The symbols of a term, sorted; none for the constant."""
Terms = Mapping[Monomial, int]
"""A polynomial: the coefficient of each of its terms, none of them 0."""

MAX_TERMS = 64
"""Of a polynomial: products of sums grow fast."""
MAX_DEGREE = 64
"""Of a term: as many symbols as a tensor has axes."""
MAX_SIZE = 2**63 - 1
"""A size and a coefficient are C's `int64_t`."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_NUMBER = re.compile(r"[1-9][0-9]{0,18}", re.ASCII)


class DimError(ValueError):
    """A polynomial past a limit."""


def add(*dims: Dim) -> Dim:
    """The sum."""
    return _dim(_sum((terms_of(dim), 1) for dim in dims))


def subtract(left: Dim, right: Dim) -> Dim:
    """The difference, which may be negative: see `is_possible`."""
    return _dim(_sum([(terms_of(left), 1), (terms_of(right), -1)]))


def multiply(dims: Iterable[Dim]) -> Dim:
    """The product; of a shape, how many elements it has."""
    result: dict[Monomial, int] = {(): 1}
    for dim in dims:
        if dim != 1:
            result = _product(result, terms_of(dim))
    return _dim(result)


def element_count(dims: Iterable[Dim]) -> Dim:
    """`multiply` without limits: to compare shapes that the type rules have admitted."""
    result: dict[Monomial, int] = {(): 1}
    for dim in dims:
        if dim != 1:
            result = _multiplied(result, terms_of(dim))
    return _dim(result)


def substitute(dim: Dim, binding: Mapping[str, Dim]) -> Dim:
    """`dim` with each of its symbols replaced; all must be bound."""
    if isinstance(dim, int):
        return dim
    if dim in binding:
        return binding[dim]
    terms = terms_of(dim).items()
    parts = ((multiply([abs(c), *(binding[s] for s in symbols)]), c > 0) for symbols, c in terms)
    return _dim(_sum((terms_of(part), 1 if positive else -1) for part, positive in parts))


def evaluate(dim: Dim, sizes: Mapping[str, int]) -> int:
    """The integer that `dim` is at these sizes."""
    if isinstance(dim, int):
        return dim
    if dim in sizes:
        return sizes[dim]
    return sum(c * prod(sizes[s] for s in symbols) for symbols, c in terms_of(dim).items())


def is_symbol(dim: Dim) -> bool:
    """Whether `dim` is a symbol alone: what a parameter binds."""
    return isinstance(dim, str) and _NAME.fullmatch(dim) is not None


def is_derived(dim: Dim) -> bool:
    """Whether `dim` is computed from symbols."""
    return isinstance(dim, str) and not is_symbol(dim)


def symbols_of(dim: Dim) -> tuple[str, ...]:
    """The symbols in `dim`, each once, in the order of its normal form."""
    if isinstance(dim, int):
        return ()
    return (dim,) if is_symbol(dim) else _symbols(dim)


@lru_cache(maxsize=4096)
def _symbols(dim: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(symbol for symbols in terms_of(dim) for symbol in symbols))


def is_possible(dim: Dim) -> bool:
    """Whether `dim` is at least 1 for some sizes: an integer above 0, or one term is added."""
    return any(coefficient > 0 for coefficient in terms_of(dim).values())


def is_negative(dim: Dim) -> bool:
    """Whether `dim` is below 0 for all sizes: nothing is added, and a number is subtracted."""
    return not is_possible(dim) and terms_of(dim).get((), 0) < 0


def may_be_negative(dim: Dim) -> bool:
    """Whether `dim` is below 0 for some sizes: a term is subtracted."""
    return any(coefficient < 0 for coefficient in terms_of(dim).values())


def is_normal(text: str) -> bool:
    """Whether `text` is the normal form of a dimension that is no integer."""
    return is_polynomial(text) and is_possible(text)


@lru_cache(maxsize=4096)
def is_polynomial(text: str) -> bool:
    """Whether `text` is the normal form of a polynomial that is no integer; it may be negative."""
    try:
        return _dim(_parse(text)) == text
    except ValueError:
        return False


def terms_of(dim: Dim) -> Terms:
    """The polynomial that `dim` is."""
    if isinstance(dim, int):
        return {(): dim} if dim else {}
    return _known_terms(dim)


@lru_cache(maxsize=4096)
def _known_terms(dim: str) -> Terms:
    return _parse(dim)


def _parse(text: str) -> dict[Monomial, int]:
    """The polynomial of a normal form; a `ValueError` for a text that is none."""
    sign, terms = 1, list[tuple[Terms, int]]()
    first, *rest = text.removeprefix("-").split(" ")
    sign = -1 if text.startswith("-") else 1
    factors = [first]
    for operator, operand in zip(rest[::2], rest[1::2], strict=True):
        if operator != "*":
            terms.append((_term(factors), sign))
            factors, sign = [], {"+": 1, "-": -1}.get(operator, 0)
        factors.append(operand)
    if not all(sign for _, sign in terms) or not sign:
        raise ValueError(f"{text} is no dimension")
    return _sum([*terms, (_term(factors), sign)])


def _term(factors: Iterable[str]) -> Terms:
    numbers = [factor for factor in factors if _NUMBER.fullmatch(factor)]
    symbols = [factor for factor in factors if factor not in numbers]
    if any(not _NAME.fullmatch(symbol) for symbol in symbols):
        raise ValueError(f"{' * '.join(factors)} is no term")
    return {tuple(sorted(symbols)): prod(map(int, numbers))}


def _sum(parts: Iterable[tuple[Terms, int]]) -> dict[Monomial, int]:
    total: dict[Monomial, int] = {}
    for terms, sign in parts:
        for symbols, coefficient in terms.items():
            total[symbols] = total.get(symbols, 0) + sign * coefficient
    return _within_limits({symbols: c for symbols, c in total.items() if c})


def _product(left: Terms, right: Terms) -> dict[Monomial, int]:
    return _within_limits(_multiplied(left, right))


def _multiplied(left: Terms, right: Terms) -> dict[Monomial, int]:
    total: dict[Monomial, int] = {}
    for some, by in left.items():
        for others, times in right.items():
            symbols = tuple(sorted(some + others))
            total[symbols] = total.get(symbols, 0) + by * times
    return {symbols: c for symbols, c in total.items() if c}


def _within_limits(terms: dict[Monomial, int]) -> dict[Monomial, int]:
    if len(terms) > MAX_TERMS:
        raise DimError(f"a dimension has at most {MAX_TERMS} terms")
    if any(len(symbols) > MAX_DEGREE for symbols in terms):
        raise DimError(f"a term of a dimension has at most {MAX_DEGREE} symbols")
    # An integer alone is judged where it is used: element counts may be larger than a size.
    if any(symbols and abs(c) > MAX_SIZE for symbols, c in terms.items()):
        raise DimError("a coefficient of a dimension is at most 2^63 - 1")
    return terms


def _dim(terms: Terms) -> Dim:
    if not any(terms):
        return terms.get((), 0)
    ordered = sorted(terms, key=lambda symbols: (terms[symbols] < 0, -len(symbols), symbols))
    shown = "".join(_signed(symbols, terms[symbols]) for symbols in ordered)
    return shown.removeprefix(" + ") if terms[ordered[0]] > 0 else f"-{shown.removeprefix(' - ')}"


def _signed(symbols: Monomial, coefficient: int) -> str:
    size = abs(coefficient)
    factors = [str(size), *symbols] if size != 1 or not symbols else symbols
    return f" {'-' if coefficient < 0 else '+'} {' * '.join(factors)}"
