"""Elementwise operations move before a concatenation whose result is only stored.

Each part is then computed where it belongs, and no tensor of the parts is made in between. Where
a reduction waits behind, the concatenation stays: its fibers cross the parts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xdsl.dialects.func import ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from kina.dialects.elementwise import BinaryOp, CastOp, ConstantOp, UnaryOp
from kina.dialects.layout import ConcatOp, OverwriteOp, SizeOp, WindowOp
from kina.dialects.shaping import BroadcastOp
from kina.dialects.table import build
from kina.dialects.types import from_ir
from kina.dims import Dim, DimError, add, subtract

_ELEMENTWISE = (UnaryOp, BinaryOp, CastOp)
_MOST_PARTS = 4
"""More are put together first: each is code of its own."""


class ElementwiseOfConcat(RewritePattern):
    """`f(concat(a, b), c)` is `concat(f(a, …), f(b, …))`, with windows of c."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        if not isinstance(op, _ELEMENTWISE):
            return
        joined = [o.owner for o in op.operands if isinstance(o.owner, ConcatOp)]
        if not joined or len(joined[0].inputs) > _MOST_PARTS or not _is_only_stored(op):
            return
        new: list[Operation] = []
        parts: list[SSAValue] = []
        for number, (start, size) in enumerate(_windows(joined[0])):
            operands: list[SSAValue] = []
            for operand in op.operands:
                value, steps = _part(operand, joined[0], number, start, size)
                operands.append(value)
                new += steps
            new.append(part := build(op.rule_name, operands, op.rule_attributes()))
            parts.append(part.result)
        rewriter.replace(op, [*new, ConcatOp(parts, joined[0].axis_value)])


def _windows(op: ConcatOp) -> Iterator[tuple[Dim, Dim]]:
    """Where each part starts, and its size."""
    start: Dim = 0
    for size in _sizes(op):
        yield start, size
        start = add(start, size)


def _sizes(op: ConcatOp) -> list[Dim]:
    return [from_ir(part.type).dims[op.axis_value] for part in op.inputs]


def _parts(op: ConcatOp) -> tuple[int, list[Dim]]:
    return op.axis_value, _sizes(op)


def _part(
    operand: SSAValue, like: ConcatOp, number: int, start: Dim, size: Dim
) -> tuple[SSAValue, Sequence[Operation]]:
    """The elements of an operand that stand beside a part, and the operations that give them."""
    op = operand.owner
    if isinstance(op, ConcatOp) and _parts(op) == _parts(like):
        return op.inputs[number], ()
    position = SizeOp(start)
    window = WindowOp(operand, position, like.axis_value, size)
    return window.result, (position, window)


def _is_only_stored(op: Operation) -> bool:
    """Whether only elementwise operations stand between a value and the function's results."""
    seen, pending = {op}, [op]
    while pending:
        for use in (use for result in pending.pop().results for use in result.uses):
            user = use.operation
            if user in seen or isinstance(user, ReturnOp):
                continue
            if not isinstance(user, (*_ELEMENTWISE, ConcatOp)):
                return False
            seen.add(user)
            pending.append(user)
    return True


class PaddedWithZeros(RewritePattern):
    """An overwrite of zeros is a concatenation, where it is known what is left of them."""

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: OverwriteOp, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        zeros, start, axis = op.operand.owner, op.known_position, op.axis_value
        if not isinstance(zeros, BroadcastOp) or not _is_zero(zeros.operand) or start is None:
            return
        dims = op.kina_type.dims
        sizes = (start, _rest(dims[axis], op.size, start))
        if not all(isinstance(size, int) and size >= 0 for size in sizes):
            return
        around = [
            [BroadcastOp(zeros.operand, (*dims[:axis], size, *dims[axis + 1 :]))] if size else []
            for size in sizes
            if size is not None
        ]
        before, after = around
        parts = [*before, op.new, *after]
        if len(parts) == 1:
            rewriter.replace(op, [], [op.new])
        else:
            rewriter.replace(op, [*before, *after, ConcatOp(parts, axis)])


def _rest(dim: Dim, size: Dim, start: Dim) -> Dim | None:
    try:
        return subtract(subtract(dim, size), start)
    except DimError:
        return None


def _is_zero(value: SSAValue) -> bool:
    op = value.owner
    if not isinstance(op, ConstantOp):
        return False
    return not op.value.get_shape() and not any(op.value.data.data)


PATTERNS: tuple[RewritePattern, ...] = (ElementwiseOfConcat(), PaddedWithZeros())
