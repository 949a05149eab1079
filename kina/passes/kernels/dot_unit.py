"""Dot products of small integers: what is packed, and the instructions that multiply it.

Four bytes, or two integers of 16 bits, of neighbouring k are one word, a lane of I32. Where bytes
are multiplied, those of the right factor are unsigned: 128 is added to each, and what that adds to
the sums, 128 times the sum of the left factor's elements, is taken off again. All of it modulo
2^32, where any order gives the same.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import IntegerType, f32, i8, i32
from xdsl.ir import Attribute, SSAValue

from kina.dialects.upstream import intrinsic, lane_op
from kina.frozen import frozen
from kina.machine import Dots
from kina.passes.kernels.ops import Count, Ops, bytes_of, element_type, lanes_of, vector_of
from kina.passes.scheduling.products import group_of

PART = 16
"""Bytes of a register that shuffles do not leave."""
_SUM = vector.CombiningKindAttr(vector.CombiningKindFlag.ADD)
BIAS = 128
"""What is added to a signed byte to make it an unsigned one."""


@frozen
class Words:
    """Memory of I32: that of a call, which is shared with kernels of floats."""

    memory: SSAValue

    def load(self, ops: Ops, at: Count, lanes: int) -> SSAValue:
        """Some words; without lanes: one."""
        loaded = ops.load(self.memory, at, lanes, None)
        if not lanes:
            return ops.value(arith.BitcastOp(loaded, i32))
        return ops.value(vector.BitcastOp(loaded, vector_of(i32, lanes)))

    def store(self, ops: Ops, value: SSAValue, at: Count) -> None:
        """Writes one word, or those in the lanes."""
        lanes = lanes_of(value)
        if lanes:
            made = ops.value(vector.BitcastOp(value, vector_of(f32, lanes)))
        else:
            made = ops.value(arith.BitcastOp(value, f32))
        ops.store(made, self.memory, at, None)


@frozen
class DotUnit:
    """The dot products of a machine for factors of one type."""

    dots: Dots
    element: Attribute

    @property
    def group(self) -> int:
        """How many k are a word."""
        return group_of(self.element)

    @property
    def lanes(self) -> int:
        """Words of a register."""
        return self.dots.lanes

    @property
    def elements(self) -> int:
        """Elements of a register."""
        return self.lanes * self.group

    @property
    def is_biased(self) -> bool:
        """Whether the right factor is unsigned."""
        return self.element == i8

    def packed(self, ops: Ops, value: SSAValue) -> SSAValue:
        """Elements as the type that they are multiplied as."""
        if element_type(value) == self.element:
            return value
        return ops.value(lane_op(arith.ExtSIOp, [value], vector_of(self.element, lanes_of(value))))

    def words(self, ops: Ops, value: SSAValue) -> SSAValue:
        """Elements that lie along k, as words."""
        kind = vector_of(i32, lanes_of(value) // self.group)
        return ops.value(vector.BitcastOp(self.packed(ops, value), kind))

    def right(self, ops: Ops, words: SSAValue) -> SSAValue:
        """Words of the right factor as they are multiplied."""
        if not self.is_biased:
            return words
        bias = ops.spread(ops.integer(0x80808080, i32), lanes_of(words))
        return ops.value(arith.XOrIOp(words, bias))

    def zeros(self, ops: Ops) -> SSAValue:
        """Sums of nothing."""
        return ops.zeros(vector_of(i32, self.lanes))

    def add(self, ops: Ops, sums: SSAValue, right: SSAValue, left: SSAValue) -> SSAValue:
        """Adds the products of two registers of words to sums."""
        kind = vector_of(self.element, self.elements)
        factors = [ops.value(vector.BitcastOp(value, kind)) for value in (right, left)]
        if self.is_biased:
            return ops.value(intrinsic(self.dots.quads, [sums, *factors], sums.type))
        if self.dots.adds_pairs:
            return ops.value(intrinsic(self.dots.pairs, [sums, *factors], sums.type))
        made = ops.value(intrinsic(self.dots.pairs, factors, sums.type))
        return ops.value(arith.AddiOp(sums, made))

    def narrowed(self, ops: Ops, sums: SSAValue, element: Attribute) -> SSAValue:
        """Sums as the type of the result, of which they are the lowest bits."""
        if element == i32:
            return sums
        return ops.value(lane_op(arith.TruncIOp, [sums], vector_of(element, lanes_of(sums))))

    # What the bias adds.

    def add_left(self, ops: Ops, sums: SSAValue, left: SSAValue) -> SSAValue:
        """Adds the elements of words of the left factor to sums, if there is a bias."""
        if not self.is_biased:
            return sums
        ones = ops.spread(ops.integer(0x01010101, i32), self.lanes)
        return self.add(ops, sums, ones, left)

    def correction(self, ops: Ops, sums: SSAValue) -> SSAValue:
        """What makes up for the bias, given the sums of the left factor's elements."""
        bias = ops.integer(-BIAS, i32)
        return ops.value(arith.MuliOp(sums, ops.spread(bias, lanes_of(sums))))


def total(ops: Ops, sums: SSAValue) -> SSAValue:
    """The sum of all lanes."""
    properties: dict[str, Attribute] = {"kind": _SUM, "fastmath": arith.FastMathFlagsAttr("none")}
    return ops.value(
        vector.ReductionOp.create(operands=[sums], result_types=[i32], properties=properties)
    )


def interleaved(ops: Ops, rows: Sequence[SSAValue]) -> list[SSAValue]:
    """Words of some rows, one for each k of a word: `order` says which column each word is of.

    Each shuffle stays within the parts of a register, where it is one instruction.
    """
    if len(rows) == 1:
        return [ops.value(vector.BitcastOp(rows[0], vector_of(i32, _words(rows[0]))))]
    pairs = list(zip(rows[::2], rows[1::2], strict=True))
    halves = [[_paired(ops, a, b, half) for a, b in pairs] for half in (0, 1)]
    return [word for half in halves for word in interleaved(ops, half)]


def _words(value: SSAValue) -> int:
    return lanes_of(value) * bytes_of(element_type(value)) // 4


def _paired(ops: Ops, low: SSAValue, high: SSAValue, half: int) -> SSAValue:
    """One half of each part of two vectors, element beside element: wider elements."""
    lanes, size = lanes_of(low), bytes_of(element_type(low))
    part = min(PART // size, lanes)
    order = [
        place + other
        for start in range(0, lanes, part)
        for place in range(start + half * part // 2, start + (half + 1) * part // 2)
        for other in (0, lanes)
    ]
    made = ops.shuffled(low, high, order)
    return ops.value(vector.BitcastOp(made, vector_of(IntegerType(16 * size), lanes // 2)))


def order_of(columns: int, group: int) -> list[int]:
    """Where each column is among interleaved words: the place of each."""
    in_word = PART // 4
    per_part = in_word * group
    places: list[int] = []
    for column in range(columns):
        part, within = divmod(column, per_part)
        number, lane = divmod(within, in_word)
        places.append(number * (columns // group) + part * in_word + lane)
    return places
