"""Cotangents of values of which not all elements were chosen.

Where `select`, `maximum`, `minimum`, `clamp` or `top_k` does not choose an element, its cotangent
is 0. That alone does not make its share of a gradient 0: 0 / 0 is NaN, and so is 0 times infinity.
So a cotangent remembers which of its elements count, through every operation, and the others become
exact zeros before they meet anything else. Where a rule multiplies cotangents by what other
elements hold and adds up, what does not count is 0 there as well. What nobody asks for is not
computed: after a chain of sums and casts the others are zeros already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import Rewriter

from kina.dialects.base import KinaOp
from kina.dialects.contraction import ContractOp, MatmulOp
from kina.dialects.elementwise import CastOp, ElementwiseOp
from kina.dialects.fibers import LogSumExpOp, NormOp
from kina.dialects.indexing import SelectAlongAxisOp, TakeAlongAxisOp
from kina.dialects.internal import ScatterAddOp, ScatterAlongAxisOp
from kina.dialects.layout import OverwriteOp, TransposeOp, WindowOp
from kina.dialects.reduce import ReduceKeepOp, ReduceOp, ReductionOp
from kina.dialects.scan import RecurrenceOp, ReverseOp
from kina.dialects.selection import PutPlacesOp, TakePlacesOp
from kina.dialects.shaping import ReshapeOp
from kina.passes.tensor_builder import type_of
from kina.passes.vjp.builder import GradientBuilder, Share
from kina.passes.vjp.counting import is_alike, operand_mask

CERTAIN = frozenset(
    {"neg", "add", "sub", "floor", "ceil", "round", "maximum", "minimum", "clamp", "select",
     "stop_gradient", "cast", "broadcast", "reshape", "transpose", "reduce", "reduce_keep",
     "take_along_axis", "gather", "slice", "concat", "update", "cumsum"}
)  # fmt: skip
"""Operations whose rules make 0 of a cotangent that is 0."""

_MOVES = (WindowOp, OverwriteOp, SelectAlongAxisOp, ScatterAlongAxisOp, ScatterAddOp, ReverseOp,
          TakePlacesOp, PutPlacesOp)  # fmt: skip
"""The same, of those outside the op table."""

_ELEMENTS = (ElementwiseOp, CastOp, ReshapeOp, TransposeOp, ReduceOp, ReduceKeepOp, LogSumExpOp,
             TakeAlongAxisOp, SelectAlongAxisOp)  # fmt: skip
"""Operations whose rules compute each element from one element of the cotangent."""

_SUMMED = (MatmulOp, ContractOp, NormOp, RecurrenceOp)
"""Operations whose rules sum products of cotangents and what other elements hold."""


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


def guarded(b: GradientBuilder, op: Operation, taken: Share) -> Operation:
    """`op` as its rule sees it: with 0 in its operands where they do not count, if that matters.

    Where all of an operand counts, or nothing at all does, its cotangent says enough.
    """
    if taken.chosen is None or not isinstance(op, _SUMMED):
        return op
    chosen, held = taken.chosen(), list(op.operands)
    for position, operand in enumerate(held):
        mask = operand_mask(b, op, chosen, position)
        if not is_alike(mask):
            spread = b.spread(mask, type_of(operand).dims)
            held[position] = b.select(spread, operand, b.zeros(operand))
    if held == list(op.operands):
        return op
    clean = op.clone()
    clean.operands = held
    b.emit(clean)
    return clean


def drop(clean: Operation, op: Operation) -> None:
    """Forget a `guarded` operation of which no rule has read the result."""
    if clean is not op and not clean.results[0].uses:
        Rewriter.erase_op(clean)


def both(b: GradientBuilder, left: Share, right: Share) -> Share:
    """The sum of two shares: an element counts if it does in one of them."""
    total = b.add(settled(b, left), settled(b, right))
    mine, other = left.chosen, right.chosen
    if mine is None or other is None:
        return Share(total)
    return Share(total, cache(lambda: b.logical_or(*_same_dims(b, mine(), other()))))


def behind(
    b: GradientBuilder, op: KinaOp, clean: Operation, position: int, taken: Share, made: Share
) -> Share:
    """What a rule made of `clean` and a cotangent that it had taken, for one operand of `op`."""
    before_op, own = taken.chosen, made.chosen
    if before_op is None:
        return made

    @cache
    def chosen() -> SSAValue:
        passed = operand_mask(b, op, before_op(), position)
        return passed if own is None else b.logical_and(*_same_dims(b, passed, own()))

    certain = taken.certain and made.certain and _is_certain(op, clean, position)
    return Share(made.value, chosen, certain)


def _is_certain(op: KinaOp, clean: Operation, position: int) -> bool:
    """Whether the rule makes 0 of a cotangent that is 0."""
    if isinstance(op, MatmulOp | ContractOp):
        return _is_guarded(op, clean, 1 - position)
    if isinstance(op, NormOp):
        return position > 0 and _is_guarded(op, clean, 0)
    if isinstance(op, ReductionOp) and op.kind.data.value == "prod":
        return False
    return op.rule_name in CERTAIN or isinstance(op, _MOVES)


def _is_guarded(op: Operation, clean: Operation, position: int) -> bool:
    return clean.operands[position] is not op.operands[position]


def _same_dims(b: GradientBuilder, left: SSAValue, right: SSAValue) -> Sequence[SSAValue]:
    """Both in the larger dimensions of each axis."""
    pairs = zip(type_of(left).dims, type_of(right).dims, strict=True)
    dims = [mine if other == 1 else other for mine, other in pairs]
    return [b.spread(left, dims), b.spread(right, dims)]
