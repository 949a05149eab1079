"""Run-time sizes that are computed from symbols: `T + 1`, `3 * D`.

Each is computed once in a function, on entry. The operation that has the value carries the
dimension's normal form as an attribute, so that later passes know which values are sizes, and equal
sizes are one value.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, StringAttr
from xdsl.ir import Block, Operation, OpResult, SSAValue

from kina.dims import Monomial, terms_of
from kina.passes.builder import INDEX, Builder

SIZE = "size"
"""The attribute of the operation that computes a derived size: the dimension's normal form."""

SIZES = "sizes"
"""The attribute of a reshape: what each dimension of its result is, in words."""


def derive(dim: str, symbols: Mapping[str, SSAValue], at: Builder) -> SSAValue:
    """The value of a derived dimension, as an index, from the values of its symbols."""
    terms = terms_of(dim)
    total = None if max(terms.values()) > 0 else at.index(0)
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


def named(dim: str, known: int, factors: Sequence[SSAValue]) -> SSAValue:
    """The derived size `dim`, which is the product of a number and other sizes.

    It is found from these where something else has it; else it is computed after them.
    """
    seen: set[SSAValue] = set()
    work = deque(factors)  # the nearest first: a product is a step or two from its factors
    while work:
        value = work.popleft()
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
    return _computed(dim, known, factors)


def _computed(dim: str, known: int, factors: Sequence[SSAValue]) -> SSAValue:
    at = Builder(_after(factors))
    total = at.index(known)
    for factor in factors:
        is_index = isinstance(factor.type, IndexType)
        size = factor if is_index else at.value(arith.IndexCastOp(factor, INDEX))
        total = at.value(arith.MuliOp(total, size))
    assert isinstance(total, OpResult)
    total.op.attributes[SIZE] = StringAttr(dim)
    return total


def _after(values: Sequence[SSAValue]) -> Operation:
    """The first operation that stands behind some values of one block."""
    made = [value.op for value in values if isinstance(value, OpResult)]
    block = made[0].parent_block() if made else values[0].owner
    assert isinstance(block, Block)
    ops = list(block.ops)
    return ops[max((ops.index(op) + 1 for op in made), default=0)]


_ARITHMETIC = (arith.IndexCastOp, arith.AddiOp, arith.SubiOp, arith.MuliOp)
