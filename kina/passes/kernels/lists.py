"""Lists of the best keys of a row with their places, and the functions that change them.

While a row is walked its list is a heap: the entry in slot i is worse than those in slots 2 i + 1
and 2 i + 2, so slot 0 holds the worst of all, which the next better one takes the place of. In the
end it is sorted, the best first. An entry is better if its key is greater, or equal and its place
lower: no two are alike, so any way of keeping the best ones gives the same list.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from xdsl.dialects import arith, func, math
from xdsl.dialects.builtin import ArrayAttr, FunctionType, IntegerType, StringAttr, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from kina.frozen import frozen
from kina.passes.builder import INDEX
from kina.passes.kernels.function import KernelFunction
from kina.passes.kernels.ops import Count, Ops, element_type

_APART = ArrayAttr([StringAttr("noinline")])
"""Of a function that is called seldom, by loops that run often."""
_TRUTH = IntegerType(1)


class Entry(NamedTuple):
    """A key and its place."""

    key: SSAValue
    place: SSAValue


@frozen
class BestList:
    """The list of one row, whose slots are `stride` elements apart from `base` on."""

    pointers: tuple[SSAValue, SSAValue]
    memory: tuple[SSAValue, SSAValue]
    """What they point to: keys and places."""
    base: Count
    stride: Count

    def get(self, ops: Ops, slot: Count) -> Entry:
        """What is in a slot."""
        at = self._at(ops, slot)
        return Entry(*(ops.load(memory, at, 0, None) for memory in self.memory))

    def put(self, ops: Ops, slot: Count, entry: Entry) -> None:
        """Writes a slot."""
        at = self._at(ops, slot)
        for value, memory in zip(entry, self.memory, strict=True):
            ops.store(value, memory, at, None)

    def call(self, ops: Ops, name: str, *arguments: SSAValue) -> None:
        """Calls a function for this list."""
        own = [*self.pointers, ops.index(self.base)]
        own += [] if isinstance(self.stride, int) else [self.stride]
        ops.append(func.CallOp(name, [*own, *arguments], []))

    def _at(self, ops: Ops, slot: Count) -> Count:
        return ops.plus(self.base, ops.times(slot, self.stride))


class ListFunctions:
    """The functions of one kernel for lists of `k` entries."""

    def __init__(
        self, function: KernelFunction, pointers: tuple[SSAValue, SSAValue], k: int, stride: Count
    ) -> None:
        self._function, self._pointers, self._k, self._stride = function, pointers, k, stride
        key = element_type(pointers[0])
        self.count = function.scratch(INDEX, 1)
        """Memory for how many entries there are."""
        self.worst = function.scratch(key, 1)
        """Memory for the worst key, once there are k entries."""
        self._sift = self._define("sift", [INDEX, INDEX, key, i64], _sift)
        self.sort = self._define("sort", [], self._sort)
        """The function that sorts a whole list, the best entry first."""

    def of_row(self, base: Count) -> BestList:
        """The list of a row of the kernel."""
        memory = [self._function.entry.flat(pointer) for pointer in self._pointers]
        return BestList(self._pointers, (memory[0], memory[1]), base, self._stride)

    def challenge(self, lanes: SSAValue) -> str:
        """The function (bits, first place, keys by lane, …): some lanes challenge a list.

        Those whose bits are set, in order.
        """
        kinds = [i64, INDEX, lanes.type, self.count.type, self.worst.type]
        return self._define("challenge", kinds, self._challenge)

    def _define(self, word: str, kinds: Sequence[Attribute], body: _Body) -> str:
        name = f"{self._function.name}${word}"
        if any(made.sym_name.data == name for made in self._function.helpers):
            return name
        own = [*(pointer.type for pointer in self._pointers), INDEX]
        own += [] if isinstance(self._stride, int) else [INDEX]
        block = Block(arg_types=[*own, *kinds])
        ops = Ops(block, self._function.ops.location)
        keys, places, base, *rest = block.args
        stride = self._stride if isinstance(self._stride, int) else rest.pop(0)
        memory = ops.flat(keys), ops.flat(places)
        body(BestList((keys, places), memory, base, stride), ops, rest)
        ops.append(func.ReturnOp())
        signature = FunctionType.from_lists([argument.type for argument in block.args], [])
        made = func.FuncOp(name, signature, Region(block), StringAttr("private"))
        made.attributes["passthrough"] = _APART
        self._function.helpers.append(made)
        return name

    def _challenge(self, best: BestList, ops: Ops, arguments: Sequence[SSAValue]) -> None:
        bits, first, lanes, count, worst = arguments

        def is_left(inner: Ops, left: Sequence[SSAValue]) -> tuple[SSAValue, Sequence[SSAValue]]:
            return inner.compare("ne", left[0], inner.integer(0, i64)), left

        def next_one(inner: Ops, left: Sequence[SSAValue]) -> list[SSAValue]:
            lane = inner.value(math.CountTrailingZerosOp(left[0]))
            lane = inner.value(arith.IndexCastOp(lane, INDEX))
            place = inner.value(arith.IndexCastOp(inner.index(inner.plus(first, lane)), i64))
            entry = Entry(inner.load(lanes, lane, 0, None), place)
            held = inner.load(count, 0, 0, None)
            inner.either(
                inner.compare("ult", held, inner.index(self._k)),
                partial(self._append, best, entry, held, count, worst),
                partial(self._replace, best, entry, worst),
            )
            less = inner.value(arith.SubiOp(left[0], inner.integer(1, i64)))
            return [inner.value(arith.AndIOp(left[0], less))]

        ops.repeat([bits], is_left, next_one)

    def _append(
        self,
        best: BestList,
        entry: Entry,
        held: SSAValue,
        count: SSAValue,
        worst: SSAValue,
        ops: Ops,
    ) -> tuple[()]:
        """One more; the last of k makes the list a heap."""
        best.put(ops, held, entry)
        more = ops.index(ops.plus(held, 1))
        ops.store(more, count, 0, None)

        def order(inner: Ops) -> tuple[()]:
            half = self._k // 2

            def sift(deep: Ops, number: SSAValue, _: object) -> tuple[()]:
                slot = deep.index(deep.minus(half - 1, number))
                best.call(deep, self._sift, slot, deep.index(self._k), *best.get(deep, slot))
                return ()

            inner.loop(0, half, 1, (), sift)
            inner.store(best.get(inner, 0).key, worst, 0, None)
            return ()

        ops.when(ops.compare("eq", more, ops.index(self._k)), (), order)
        return ()

    def _replace(self, best: BestList, entry: Entry, worst: SSAValue, ops: Ops) -> tuple[()]:
        """In the place of the worst, if it is better: of a higher place, so its key decides."""

        def sift(inner: Ops) -> tuple[()]:
            best.call(inner, self._sift, inner.index(0), inner.index(self._k), *entry)
            inner.store(best.get(inner, 0).key, worst, 0, None)
            return ()

        wins = ops.compare("sgt", entry.key, ops.load(worst, 0, 0, None))
        ops.when(wins, (), sift)
        return ()

    def _sort(self, best: BestList, ops: Ops, _: Sequence[SSAValue]) -> None:
        """The worst of what is left goes to the end of it."""

        def move(inner: Ops, number: SSAValue, _: object) -> tuple[()]:
            last = inner.index(inner.minus(self._k - 1, number))
            entry = best.get(inner, last)
            best.put(inner, last, best.get(inner, 0))
            best.call(inner, self._sift, inner.index(0), last, *entry)
            return ()

        ops.loop(0, self._k - 1, 1, (), move)


def _sift(best: BestList, ops: Ops, arguments: Sequence[SSAValue]) -> None:
    """(hole, count, key, place): an entry goes from a hole to where no worse ones follow it."""
    hole, count, *rest = arguments
    entry = Entry(*rest)

    def goes_on(inner: Ops, at: Sequence[SSAValue]) -> tuple[SSAValue, Sequence[SSAValue]]:
        left = inner.index(inner.plus(inner.times(at[0], 2), 1))
        none = inner.integer(0, _TRUTH)

        def follow(deep: Ops) -> list[SSAValue]:
            slot = _worse_of_two(best, deep, left, count)
            return [_is_worse(deep, best.get(deep, slot), entry), slot]

        moves, slot = inner.when(inner.compare("ult", left, count), [none, left], follow)
        return moves, [at[0], slot]

    def move(inner: Ops, at: Sequence[SSAValue]) -> list[SSAValue]:
        best.put(inner, at[0], best.get(inner, at[1]))
        return [at[1]]

    best.put(ops, ops.repeat([hole], goes_on, move)[0], entry)


def _worse_of_two(best: BestList, ops: Ops, left: SSAValue, count: SSAValue) -> SSAValue:
    """The slot of the worse entry of `left` and the next slot, if there is that.

    Where there is none, `left` is compared with itself: a branch would be guessed wrong as often.
    """
    right = ops.index(ops.least(ops.plus(left, 1), ops.minus(count, 1)))
    worse = _is_worse(ops, best.get(ops, right), best.get(ops, left))
    return ops.select(worse, right, left)


def _is_worse(ops: Ops, one: Entry, other: Entry) -> SSAValue:
    below = ops.compare("slt", one.key, other.key)
    same = ops.compare("eq", one.key, other.key)
    behind = ops.compare("sgt", one.place, other.place)
    return ops.value(arith.OrIOp(below, ops.value(arith.AndIOp(same, behind))))


_Body = Callable[[BestList, Ops, Sequence[SSAValue]], None]
"""Fills a function: for a list, from its own arguments."""
