"""Run-time sizes that are computed from symbols: `T + 1`, `3 * D`.

Each is computed once in a function, on entry. The operation that has the value carries the
dimension's normal form as an attribute, so that later passes know which values are sizes, and equal
sizes are one value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from xdsl.dialects import arith
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import OpResult, SSAValue

from kina.dims import Monomial, terms_of
from kina.passes.builder import Builder

SIZE = "size"
"""The attribute of the operation that computes a derived size: the dimension's normal form."""

SIZES = "sizes"
"""The attribute of a reshape: what each dimension of its result is, in words."""


def derive(dim: str, symbols: Mapping[str, SSAValue], at: Builder) -> SSAValue:
    """The value of a derived dimension, as an index, from the values of its symbols."""
    total: SSAValue | None = None
    terms = terms_of(dim)
    for monomial in sorted(terms, key=lambda monomial: terms[monomial] < 0):
        coefficient = terms[monomial]
        term = _term(monomial, abs(coefficient), symbols, at)
        if total is None:
            total = term
        else:
            kind = arith.AddiOp if coefficient > 0 else arith.SubiOp
            total = at.value(kind(total, term))
    assert isinstance(total, OpResult)
    total.op.attributes[SIZE] = StringAttr(dim)
    return total


def _term(
    monomial: Monomial, coefficient: int, symbols: Mapping[str, SSAValue], at: Builder
) -> SSAValue:
    value: SSAValue | None = None
    for symbol in monomial:
        value = symbols[symbol] if value is None else at.value(arith.MuliOp(value, symbols[symbol]))
    if value is not None and coefficient == 1:
        return value
    number = at.index(coefficient)
    return number if value is None else at.value(arith.MuliOp(value, number))


def derived(value: SSAValue) -> str | None:
    """The dimension that a value is, if it is computed from symbols."""
    mark = value.op.attributes.get(SIZE) if isinstance(value, OpResult) else None
    return mark.data if isinstance(mark, StringAttr) else None


def again(value: SSAValue, at: Builder) -> SSAValue:
    """A derived size computed once more, at another place: all it needs are arguments."""
    if not isinstance(value, OpResult):
        return value
    op = value.op.clone({operand: again(operand, at) for operand in value.op.operands})
    op.attributes.pop(SIZE, None)
    return at.value(op)


def named(dim: str, factors: Iterable[SSAValue]) -> SSAValue:
    """The derived size `dim`, found from other sizes that are computed from the same symbols."""
    seen: set[SSAValue] = set()
    work = list(factors)
    while work:
        value = work.pop()
        if value in seen:
            continue
        seen.add(value)
        if derived(value) == dim:
            return value
        around = [use.operation for use in value.uses]
        if isinstance(value, OpResult):
            around.append(value.op)
        for op in around:
            if isinstance(op, _ARITHMETIC):
                work += [*op.operands, *op.results]
    raise ValueError(f"no size {dim} is computed from {', '.join(map(str, factors))}")


_ARITHMETIC = (arith.IndexCastOp, arith.AddiOp, arith.SubiOp, arith.MuliOp)
