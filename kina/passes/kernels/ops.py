"""Building loops, vectors and memory accesses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import accumulate
from typing import TypeAlias, cast

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FixedBitwidthType,
    IndexType,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    MemRefType,
    VectorType,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, SSAValue

from kina.dialects.upstream import lane_compare, lane_op, lane_select
from kina.passes.builder import INDEX, Builder

Count: TypeAlias = int | SSAValue
"""A number, or the index value that holds it when the code runs."""
Flag: TypeAlias = bool | SSAValue
"""What is known, or a truth value of the running code."""
Cast: TypeAlias = type[arith.BitcastOp | arith.ExtFOp | arith.TruncFOp]
"""The class of a cast: from a value, to a type."""
LoopBody: TypeAlias = Callable[["Ops", SSAValue, Sequence[SSAValue]], Sequence[SSAValue]]
"""What a loop does: from its counter and what it carries to what it carries on."""


@lru_cache(maxsize=1024)
def vector_of(element: Attribute, lanes: int) -> VectorType[Attribute]:
    """The type of so many lanes."""
    return VectorType(element, [lanes])


def element_type(value: SSAValue) -> Attribute:
    """The element type of a vector or memref, the type of a scalar."""
    kind = value.type
    if isinstance(kind, VectorType | MemRefType):
        return cast(VectorType[Attribute] | MemRefType[Attribute], kind).element_type
    return kind


def is_vector(value: SSAValue) -> bool:
    """Whether a value has lanes."""
    return isinstance(value.type, VectorType)


def is_memory(value: SSAValue) -> bool:
    """Whether a value is a buffer."""
    return isinstance(value.type, MemRefType)


def lanes_of(value: SSAValue) -> int:
    """The number of lanes, 0 for a scalar."""
    if not is_vector(value):
        return 0
    return cast(VectorType[Attribute], value.type).get_shape()[0]


def _powers(count: int) -> list[tuple[int, int]]:
    """Powers of two that make a count, the largest first, each with the sum of those before."""
    sizes = [1 << bit for bit in reversed(range(count.bit_length())) if count >> bit & 1]
    return list(zip(sizes, accumulate(sizes, initial=0), strict=False))


def bytes_of(element: Attribute) -> int:
    """The size of an element in memory."""
    assert isinstance(element, FixedBitwidthType)
    return element.size


class Ops(Builder):
    """A builder of loops over vectors; counts that are known are folded."""

    def __init__(self, block: Block, location: LocationAttr | None = None) -> None:
        super().__init__(block, location)
        self._known: dict[int, SSAValue] = {}
        self._spread: dict[tuple[SSAValue, int], SSAValue] = {}

    # Counts.

    def index(self, value: Count) -> SSAValue:
        """A count as an index value; one constant of a block for each number."""
        if isinstance(value, SSAValue):
            return value
        if value not in self._known:
            self._known[value] = super().index(value)
        return self._known[value]

    def plus(self, left: Count, right: Count) -> Count:
        """left + right."""
        if isinstance(left, int) and isinstance(right, int):
            return left + right
        if left == 0 or right == 0:
            return right if left == 0 else left
        return self.value(arith.AddiOp(self.index(left), self.index(right)))

    def minus(self, left: Count, right: Count) -> Count:
        """left - right."""
        if isinstance(left, int) and isinstance(right, int):
            return left - right
        return left if right == 0 else self.value(arith.SubiOp(self.index(left), self.index(right)))

    def times(self, left: Count, right: Count) -> Count:
        """left * right."""
        if isinstance(left, int) and isinstance(right, int):
            return left * right
        if left == 1 or right == 1:
            return right if left == 1 else left
        return self.value(arith.MuliOp(self.index(left), self.index(right)))

    def divide(self, left: Count, right: int) -> Count:
        """left / right, rounded down."""
        if isinstance(left, int):
            return left // right
        return self.value(arith.DivUIOp(left, self.index(right)))

    def remainder(self, left: Count, right: int) -> Count:
        """What is left of a division."""
        if isinstance(left, int):
            return left % right
        return self.value(arith.RemUIOp(left, self.index(right)))

    def down(self, left: Count, right: Count, first: Count) -> Count:
        """left - right, but not before the first."""
        if right == 0 or left is first:
            return left
        moved = self.index(self.minus(left, right))
        return self.value(arith.MaxSIOp(moved, self.index(first)))

    def least(self, left: Count, right: Count) -> Count:
        """The smaller of two counts."""
        if isinstance(left, int) and isinstance(right, int):
            return min(left, right)
        return self.value(arith.MinUIOp(self.index(left), self.index(right)))

    def most(self, left: Count, right: Count) -> Count:
        """The larger of two counts."""
        if isinstance(left, int) and isinstance(right, int):
            return max(left, right)
        return self.value(arith.MaxUIOp(self.index(left), self.index(right)))

    # Control flow.

    def loop(
        self, first: Count, end: Count, step: int, starts: Sequence[SSAValue], body: LoopBody
    ) -> list[SSAValue]:
        """An `scf.for`; what it carries in the end."""
        block = Block(arg_types=[INDEX, *(start.type for start in starts)])
        inner = Ops(block, self.location)
        inner.append(scf.YieldOp(*body(inner, block.args[0], block.args[1:])))
        bounds = [self.index(bound) for bound in (first, end, step)]
        loop = scf.ForOp(bounds[0], bounds[1], bounds[2], starts, block)
        self.append(loop)
        return list(loop.results)

    def when(
        self,
        condition: SSAValue,
        starts: Sequence[SSAValue],
        body: Callable[[Ops], Sequence[SSAValue]],
    ) -> list[SSAValue]:
        """What `body` makes if the condition holds, else `starts`."""
        block = Block()
        inner = Ops(block, self.location)
        inner.append(scf.YieldOp(*body(inner)))
        otherwise = [Block([scf.YieldOp(*starts)])]
        choice = scf.IfOp(condition, [start.type for start in starts], [block], otherwise)
        self.append(choice)
        return list(choice.results)

    def each(
        self, first: Count, count: Count, step: int, body: Callable[[Ops, SSAValue], None]
    ) -> None:
        """A loop over `count` from the first one on that carries nothing."""

        def once(inside: Ops, at: SSAValue, _: Sequence[SSAValue]) -> Sequence[SSAValue]:
            body(inside, at)
            return ()

        if count != 0:
            self.loop(first, self.plus(first, count), step, (), once)

    def choose(
        self,
        condition: Flag,
        body: Callable[[Ops], None],
        otherwise: Callable[[Ops], None] | None = None,
    ) -> None:
        """One of two, or one or nothing; without results."""
        if isinstance(condition, bool):
            if (chosen := body if condition else otherwise) is not None:
                chosen(self)
            return

        def filled(fill: Callable[[Ops], None] | None) -> Callable[[Ops], Sequence[SSAValue]]:
            def yields(inside: Ops) -> Sequence[SSAValue]:
                if fill is not None:
                    fill(inside)
                return ()

            return yields

        self.either(condition, filled(body), filled(otherwise))

    def repeat(
        self,
        starts: Sequence[SSAValue],
        test: Callable[[Ops, Sequence[SSAValue]], tuple[SSAValue, Sequence[SSAValue]]],
        body: Callable[[Ops, Sequence[SSAValue]], Sequence[SSAValue]],
    ) -> list[SSAValue]:
        """An `scf.while`: `test` says whether to go on, and with what; what it says in the end."""
        before = Block(arg_types=[start.type for start in starts])
        asking = Ops(before, self.location)
        condition, passed = test(asking, before.args)
        asking.append(scf.ConditionOp(condition, *passed))
        after = Block(arg_types=[value.type for value in passed])
        doing = Ops(after, self.location)
        doing.append(scf.YieldOp(*body(doing, after.args)))
        loop = scf.WhileOp(starts, [value.type for value in passed], [before], [after])
        self.append(loop)
        return list(loop.results)

    def either(
        self,
        condition: SSAValue,
        body: Callable[[Ops], Sequence[SSAValue]],
        otherwise: Callable[[Ops], Sequence[SSAValue]],
    ) -> None:
        """One of two, without results."""
        blocks = [Block(), Block()]
        for block, fill in zip(blocks, (body, otherwise), strict=True):
            inner = Ops(block, self.location)
            inner.append(scf.YieldOp(*fill(inner)))
        self.append(scf.IfOp(condition, [], [blocks[0]], [blocks[1]]))

    # Vectors.

    def spread(self, value: SSAValue, lanes: int) -> SSAValue:
        """A scalar in every lane; a vector as it is. Without lanes: the scalar."""
        if not lanes or is_vector(value):
            return value
        if (value, lanes) not in self._spread:
            self._spread[value, lanes] = self._in_lanes(value, vector_of(value.type, lanes))
        return self._spread[value, lanes]

    def _in_lanes(self, value: SSAValue, kind: VectorType[Attribute]) -> SSAValue:
        made = value.owner
        # Not of floats: xDSL reads one that it printed as bits back as a number.
        if isinstance(made, arith.ConstantOp) and isinstance(made.value, IntegerAttr):
            integers = cast(VectorType[IntegerType], kind)
            splat = DenseIntOrFPElementsAttr.from_list(integers, [made.value.value.data])
            return self.value(arith.ConstantOp(splat, kind))
        return self.value(vector.BroadcastOp(value, kind))

    def counted(self, first: Count, kind: Attribute, lanes: int) -> SSAValue:
        """first, first + 1, … in the lanes, as integers of a kind."""
        start = self.index(first)
        start = start if kind == INDEX else self.value(arith.IndexCastOp(start, kind))
        if not lanes:
            return start
        whole = cast(VectorType[IntegerType], vector_of(kind, lanes))
        steps = DenseIntOrFPElementsAttr.from_list(whole, list(range(lanes)))
        return self.value(
            arith.AddiOp(self.spread(start, lanes), self.value(arith.ConstantOp(steps, whole)))
        )

    def select(self, condition: SSAValue, yes: SSAValue, no: SSAValue) -> SSAValue:
        """`yes` where the condition holds, lane by lane where it has lanes, else `no`."""
        if is_vector(condition):
            return self.value(lane_select(condition, yes, no))
        return super().select(condition, yes, no)

    def compare(self, predicate: str, left: SSAValue, right: SSAValue) -> SSAValue:
        """`arith.cmpi` or `arith.cmpf`, as the elements are integers or floats."""
        if not is_vector(left):
            return super().compare(predicate, left, right)
        is_integer = isinstance(element_type(left), IntegerType | IndexType)
        return self.value(lane_compare(predicate, left, right, is_integer=is_integer))

    def lanes_of(self, value: SSAValue, lanes: Sequence[int]) -> SSAValue:
        """A vector of some lanes of another."""
        return self.shuffled(value, value, lanes)

    def shuffled(self, left: SSAValue, right: SSAValue, lanes: Sequence[int]) -> SSAValue:
        """A vector of some lanes of two, those of the second one counted on."""
        order = DenseArrayBase.from_list(i64, lanes)
        kind = vector_of(element_type(left), len(lanes))
        return self.value(vector.ShuffleOp(left, right, order, result_type=kind))

    def joined(self, pieces: Sequence[SSAValue]) -> SSAValue:
        """Vectors of one type, as many as a power of two, one behind the other."""
        if len(pieces) == 1:
            return pieces[0]
        lanes = range(2 * lanes_of(pieces[0]))
        pairs = zip(pieces[::2], pieces[1::2], strict=True)
        return self.joined([self.shuffled(a, b, lanes) for a, b in pairs])

    def lane(self, value: SSAValue, number: int) -> SSAValue:
        """One lane."""
        return self.value(vector.ExtractOp(value, [number], element_type(value)))

    def mask(self, count: Count, lanes: int) -> SSAValue:
        """True in the first lanes."""
        kind = cast(VectorType[IntegerType], vector_of(i1, lanes))
        if isinstance(count, int):
            truth = [int(lane < count) for lane in range(lanes)]
            return self.value(
                arith.ConstantOp(DenseIntOrFPElementsAttr.from_list(kind, truth), kind)
            )
        return self.value(vector.CreateMaskOp([count], kind))

    def cast(self, kind: Cast, value: SSAValue, element: Attribute) -> SSAValue:
        """A value, or each of its lanes, as another type."""
        lanes = lanes_of(value)
        if not lanes:
            return self.value(kind(value, element))
        return self.value(lane_op(kind, [value], vector_of(element, lanes)))

    # Memory.

    def flat(self, pointer: SSAValue) -> SSAValue:
        """A bare pointer as a memref of one dimension, of a size that nobody asks for."""
        kind = MemRefType(element_type(pointer), [DYNAMIC_INDEX])
        return self.value(
            memref.ReinterpretCastOp(
                pointer, [], [self.index(1)], [], [0], [DYNAMIC_INDEX], [1], kind
            )
        )

    def load(self, buffer: SSAValue, at: Count, lanes: int, mask: SSAValue | None) -> SSAValue:
        """The element at a place, or those of so many lanes; what is masked is zero."""
        place = [self.index(at)]
        element = element_type(buffer)
        if not lanes:
            return self.value(memref.LoadOp.get(buffer, place))
        kind = vector_of(element, lanes)
        if mask is None:
            return self.value(vector.LoadOp(buffer, place, kind))
        return self.value(vector.MaskedLoadOp(buffer, place, mask, self.zeros(kind), kind))

    def load_first(self, buffer: SSAValue, at: Count, count: int, lanes: int) -> SSAValue:
        """So many elements by loads of powers of two; in the other lanes is anything."""
        made: SSAValue | None = None
        for size, place in reversed(_powers(count)):
            loaded = self.load(buffer, self.plus(at, place), size, None)
            made = loaded if made is None else self.joined([loaded, self._widened(made, size)])
        assert made is not None
        return self._widened(made, lanes)

    def store_first(self, value: SSAValue, buffer: SSAValue, at: Count, count: int) -> None:
        """Writes so many lanes by stores of powers of two."""
        for size, place in _powers(count):
            lanes = self.lanes_of(value, range(place, place + size))
            self.store(lanes, buffer, self.plus(at, place), None)

    def _widened(self, value: SSAValue, lanes: int) -> SSAValue:
        """A vector of more lanes, the same ones again."""
        had = lanes_of(value)
        return value if had == lanes else self.lanes_of(value, [i % had for i in range(lanes)])

    def zeros(self, kind: VectorType[Attribute]) -> SSAValue:
        """A vector of zeros."""
        zero = DenseIntOrFPElementsAttr.from_list(cast(VectorType[IntegerType], kind), [0])
        return self.value(arith.ConstantOp(zero, kind))

    def store(self, value: SSAValue, buffer: SSAValue, at: Count, mask: SSAValue | None) -> None:
        """Writes a scalar or a vector, of which only the unmasked lanes."""
        place = [self.index(at)]
        if not is_vector(value):
            self.append(memref.StoreOp.get(value, buffer, place))
        elif mask is None:
            self.append(vector.StoreOp(value, buffer, place))
        else:
            self.append(vector.MaskedStoreOp(buffer, place, mask, value))
