"""Random numbers: each element computes its block of Philox 4x32-10 and takes one word of it.

A block is computed by all four of its elements: so elements depend on nothing but their place, and
fuse with what reads them. A word is the low half of an i64, as the products need it.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import f32, i32, i64
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.ir import SSAValue

from kina.dialects.random import RandomUniformOp
from kina.passes.builder import Builder
from kina.passes.lowering.context import Lowering
from kina.passes.lowering.generic import generic, whole
from kina.philox import MULTIPLIERS, ROUNDS, STEPS
from kina.types import Dim

_LOW = 0xFFFFFFFF


def lower_random_uniform(state: Lowering, op: RandomUniformOp) -> None:
    """Lower to integer arithmetic on the flat index of each element."""
    type_, seed = op.kina_type, state.value(op.seed)
    sizes = [_size(state, dim) for dim in type_.dims]

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        words = _Words(inner)
        place = words.place(sizes)
        key, offset = (
            inner.value(tensor.ExtractOp(seed, [inner.index(position)], i64))
            for position in range(2)
        )
        number = inner.value(arith.AddiOp(offset, words.right(place, 2)))
        return [words.uniform(words.chosen(words.block(key, number), place))]

    output = whole(state.empty_like(type_))
    state.bind(op.result, generic(state.builder, type_.rank, [], [output], body)[0])


def _size(state: Lowering, dim: Dim) -> int | SSAValue:
    if isinstance(dim, int):
        return dim
    return state.builder.value(arith.IndexCastOp(state.size(dim), i64))


class _Words:
    """Arithmetic on 32-bit words in i64s."""

    def __init__(self, inner: Builder) -> None:
        self._inner = inner

    def right(self, value: SSAValue, count: int) -> SSAValue:
        """Shifted right, zeros coming in."""
        return self._inner.value(arith.ShRUIOp(value, self._inner.integer(count, i64)))

    def _low(self, value: SSAValue) -> SSAValue:
        return self._inner.value(arith.AndIOp(value, self._inner.integer(_LOW, i64)))

    def _xor(self, *values: SSAValue) -> SSAValue:
        first, *others = values
        for other in others:
            first = self._inner.value(arith.XOrIOp(first, other))
        return first

    def place(self, sizes: Sequence[int | SSAValue]) -> SSAValue:
        """The flat index, row-major."""
        inner, flat = self._inner, None
        for axis, size in enumerate(sizes):
            index = inner.value(arith.IndexCastOp(inner.value(IndexOp(axis)), i64))
            if flat is not None:
                factor = inner.integer(size, i64) if isinstance(size, int) else size
                index = inner.value(arith.AddiOp(inner.value(arith.MuliOp(flat, factor)), index))
            flat = index
        return inner.integer(0, i64) if flat is None else flat

    def block(self, key: SSAValue, number: SSAValue) -> list[SSAValue]:
        """The four words of a block."""
        zero = self._inner.integer(0, i64)
        counter = [self._low(number), self.right(number, 32), zero, zero]
        keys = [self._low(key), self.right(key, 32)]
        for number_of_round in range(ROUNDS):
            if number_of_round:
                keys = [self._grown(*pair) for pair in zip(keys, STEPS, strict=True)]
            counter = self._round(counter, keys)
        return counter

    def _grown(self, word: SSAValue, step: int) -> SSAValue:
        inner = self._inner
        return self._low(inner.value(arith.AddiOp(word, inner.integer(step, i64))))

    def _round(self, counter: Sequence[SSAValue], keys: Sequence[SSAValue]) -> list[SSAValue]:
        inner = self._inner
        first, second = (
            inner.value(arith.MuliOp(word, inner.integer(multiplier, i64)))
            for word, multiplier in zip(counter[::2], MULTIPLIERS, strict=True)
        )
        return [
            self._xor(self.right(second, 32), counter[1], keys[0]),
            self._low(second),
            self._xor(self.right(first, 32), counter[3], keys[1]),
            self._low(first),
        ]

    def chosen(self, block: Sequence[SSAValue], place: SSAValue) -> SSAValue:
        """Word `place` mod 4."""
        inner = self._inner
        is_odd, is_upper = (self._has(place, bit) for bit in (1, 2))
        low, high = (inner.select(is_odd, block[at + 1], block[at]) for at in (0, 2))
        return inner.select(is_upper, high, low)

    def _has(self, place: SSAValue, bit: int) -> SSAValue:
        inner = self._inner
        found = inner.value(arith.AndIOp(place, inner.integer(bit, i64)))
        return inner.compare("ne", found, inner.integer(0, i64))

    def uniform(self, word: SSAValue) -> SSAValue:
        """The middle of one of 2^23 equal parts of (0, 1); no step rounds."""
        inner = self._inner
        odd = inner.value(arith.OrIOp(self.right(word, 8), inner.integer(1, i64)))
        number = inner.value(arith.SIToFPOp(inner.value(arith.TruncIOp(odd, i32)), f32))
        return inner.value(arith.MulfOp(number, inner.real(2.0**-24, f32)))
