"""Cotangents of values of which not all elements were chosen.

Where `select`, `maximum`, `minimum` or `clamp` does not choose an element, its cotangent is 0. That
alone does not make its share of a gradient 0: 0 / 0 is NaN, and so is 0 times infinity. So a
cotangent remembers which of its elements count, through everything that computes elements from
elements, and the others become exact zeros before they meet anything else. What nobody asks for
is not computed: after a chain of sums and casts the others are zeros already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from xdsl.ir import Operation, SSAValue

from kina.dialects.base import KinaOp
from kina.dialects.elementwise import CastOp, ElementwiseOp
from kina.dialects.fibers import LogSumExpOp
from kina.dialects.indexing import SelectAlongAxisOp, TakeAlongAxisOp
from kina.dialects.layout import TransposeOp
from kina.dialects.normalize import NormalizeOp
from kina.dialects.reduce import ReduceKeepOp, ReduceOp
from kina.dialects.shaping import BroadcastOp, ReshapeOp
from kina.dtypes import BOOL, I8
from kina.passes.tensor_builder import type_of
from kina.passes.vjp.builder import GradientBuilder, Share
from kina.types import Dim

CERTAIN = frozenset(
    {"neg", "add", "sub", "abs", "floor", "ceil", "round", "maximum", "minimum", "clamp", "select",
     "stop_gradient", "cast", "broadcast", "reshape", "transpose", "reduce", "reduce_keep",
     "take_along_axis"}
)  # fmt: skip
"""Operations whose rules make 0 of a cotangent that is 0."""


def settled(b: GradientBuilder, share: Share) -> SSAValue:
    """The cotangent, with exact zeros where it does not count."""
    if share.chosen is None or share.certain:
        return share.value
    chosen = b.spread(share.chosen(), type_of(share.value).dims)
    return b.select(chosen, share.value, b.zeros(share.value))


def before(b: GradientBuilder, op: Operation, share: Share) -> Share:
    """The cotangent as the rule of `op` takes it: settled if the rule mixes elements."""
    if share.chosen is None or isinstance(op, _ELEMENTS):
        return share
    return replace(share, value=settled(b, share), certain=True)


def both(b: GradientBuilder, left: Share, right: Share) -> Share:
    """The sum of two shares: an element counts if it does in one of them."""
    total = b.add(settled(b, left), settled(b, right))
    mine, other = left.chosen, right.chosen
    if mine is None or other is None:
        return Share(total)
    return Share(total, cache(lambda: b.logical_or(*_same_dims(b, mine(), other()))))


def behind(b: GradientBuilder, op: Operation, taken: Share, made: Share) -> Share:
    """What a rule made of a cotangent that it had taken, for an operand of `op`."""
    rule = next((rule for kinds, rule in _RULES if isinstance(op, kinds)), None)
    before_op, own = taken.chosen, made.chosen
    if before_op is None or rule is None:
        return made
    assert isinstance(op, KinaOp)

    @cache
    def chosen() -> SSAValue:
        passed = rule(b, op, before_op(), type_of(made.value).dims)
        return passed if own is None else b.logical_and(*_same_dims(b, passed, own()))

    certain = taken.certain and made.certain and op.rule_name in CERTAIN
    return Share(made.value, chosen, certain)


def _same_dims(b: GradientBuilder, left: SSAValue, right: SSAValue) -> Sequence[SSAValue]:
    """Both in the larger dimensions of each axis."""
    pairs = zip(type_of(left).dims, type_of(right).dims, strict=True)
    dims = [mine if other == 1 else other for mine, other in pairs]
    return [b.spread(left, dims), b.spread(right, dims)]


# From the elements of a result to those of an operand; an axis where all are alike has size 1.


def _element(b: GradientBuilder, op: Any, chosen: SSAValue, dims: Sequence[Dim]) -> SSAValue:
    return chosen


def _fiber(b: GradientBuilder, op: Any, chosen: SSAValue, dims: Sequence[Dim]) -> SSAValue:
    """All elements of a fiber count if its one result does."""
    known = type_of(chosen).dims
    return b.reshape(chosen, (*known[: op.axis_value], 1, *known[op.axis_value :]))


def _reshaped(b: GradientBuilder, op: Any, chosen: SSAValue, dims: Sequence[Dim]) -> SSAValue:
    return b.reshape(b.spread(chosen, op.kina_type.dims), dims)


def _transposed(b: GradientBuilder, op: Any, chosen: SSAValue, dims: Sequence[Dim]) -> SSAValue:
    axes = op.axes_values
    return b.emit(TransposeOp(chosen, [axes.index(axis) for axis in range(len(axes))]))


def _mixed(b: GradientBuilder, op: Any, chosen: SSAValue, dims: Sequence[Dim]) -> SSAValue:
    """All elements of a fiber count if one of its results does."""
    return _any(b, chosen, op.axis_value)


def _copied(b: GradientBuilder, op: Any, chosen: SSAValue, dims: Sequence[Dim]) -> SSAValue:
    """An element counts if one of its copies does."""
    new = op.kina_type.rank - len(dims)
    for axis in range(op.kina_type.rank):
        if axis < new or dims[axis - new] == 1:
            chosen = _any(b, chosen, axis)
    known = type_of(chosen).dims[new:]
    return b.reshape(chosen, known)


def _any(b: GradientBuilder, chosen: SSAValue, axis: int) -> SSAValue:
    """Whether any element along an axis counts; the axis gets size 1."""
    if type_of(chosen).dims[axis] == 1:
        return chosen
    largest = b.emit(ReduceKeepOp(b.cast(chosen, I8), "max", axis))
    return b.cast(largest, BOOL)


_TAKES = (TakeAlongAxisOp, SelectAlongAxisOp)
_TO_ONE = (ReduceOp, LogSumExpOp, *_TAKES)
"""Operations that make one element of a fiber."""
_ELEMENTS = (ElementwiseOp, CastOp, ReshapeOp, TransposeOp, ReduceKeepOp, *_TO_ONE)
"""Operations whose rules compute each element from one element of the cotangent."""

_Rule = Callable[[GradientBuilder, Any, SSAValue, Sequence[Dim]], SSAValue]

_RULES: tuple[tuple[tuple[type[Operation], ...], _Rule], ...] = (
    ((ElementwiseOp, CastOp, ReduceKeepOp), _element),
    (_TO_ONE, _fiber),
    ((ReshapeOp,), _reshaped),
    ((TransposeOp,), _transposed),
    ((NormalizeOp,), _mixed),
    ((BroadcastOp,), _copied),
)
