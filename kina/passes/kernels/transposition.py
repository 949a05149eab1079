"""Squares of elements transposed in registers, by shuffles that processors have.

Rows are vectors; four at a time are transposed within parts of four lanes, which are then dealt
to the vectors that they belong to.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from kina.passes.kernels.ops import Ops, lanes_of

PART = 4
"""Lanes that are transposed among themselves."""


def transposed(ops: Ops, rows: Sequence[SSAValue]) -> list[SSAValue]:
    """Vector k of the lanes k of some vectors, as many as each has lanes: 4, 8, 16, …"""
    columns = [_parts(ops, rows[at : at + PART]) for at in range(0, len(rows), PART)]
    made: list[SSAValue | None] = [None] * len(rows)
    for k, same in enumerate(zip(*columns, strict=True)):
        made[k::PART] = _dealt(ops, same)
    return [vector for vector in made if vector is not None]


def _parts(ops: Ops, rows: Sequence[SSAValue]) -> list[SSAValue]:
    """Four vectors, of which each part of four lanes is transposed."""
    a, b, c, d = rows
    starts = range(0, lanes_of(a), PART)
    low, high = (
        [ops.shuffled(x, y, _order(starts, at, len(starts))) for x, y in ((a, b), (c, d))]
        for at in (0, 2)
    )
    return [
        ops.shuffled(x, y, _pairs(starts, at, len(starts))) for x, y in (low, high) for at in (0, 2)
    ]


def _order(starts: range, at: int, parts: int) -> list[int]:
    """x0 y0 x1 y1 of each part, or x2 y2 x3 y3."""
    other = PART * parts
    return [
        lane
        for start in starts
        for lane in (start + at, other + start + at, start + at + 1, other + start + at + 1)
    ]


def _pairs(starts: range, at: int, parts: int) -> list[int]:
    """The first pairs of each part of two vectors, or the second ones."""
    other = PART * parts
    return [
        lane
        for start in starts
        for lane in (start + at, start + at + 1, other + start + at, other + start + at + 1)
    ]


def _dealt(ops: Ops, vectors: Sequence[SSAValue]) -> list[SSAValue]:
    """Vector q of the parts q of some vectors, as many as each has parts."""
    if len(vectors) == 1:
        return list(vectors)
    made: list[SSAValue] = list(vectors)
    for first in (0, 1):
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        every_other = [ops.shuffled(x, y, _every_other(lanes_of(x), first)) for x, y in pairs]
        made[first::2] = _dealt(ops, every_other)
    return made


def _every_other(lanes: int, first: int) -> list[int]:
    """The even parts of two vectors, or the odd ones."""
    parts = range(first, 2 * lanes // PART, 2)
    return [PART * part + lane for part in parts for lane in range(PART)]
