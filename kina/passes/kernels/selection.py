"""The best elements of each row (top_k).

    for each row:
        64 keys at a time: those that beat the worst one of the list, as bits; none, almost always
            for each bit that is set: an entry of the list, instead of the worst (`lists.py`)
        the list is sorted

So a row costs little more than reading it, and at worst, if each element is better than all
before it, the logarithm of k for each element.
"""

from __future__ import annotations

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import IntegerType, VectorType, i64
from xdsl.ir import SSAValue

from kina.passes.kernels.function import KernelFunction
from kina.passes.kernels.lists import BestList, ListFunctions
from kina.passes.kernels.ops import Ops, element_type, lanes_of
from kina.passes.kernels.rows import Rows
from kina.passes.kernels.step import Row, Step
from kina.passes.kernels.walk import Held
from kina.passes.scheduling.graph import Access, shape_of
from kina.passes.scheduling.selections import selected
from kina.passes.scheduling.space import Size


class Selection(Rows):
    """One walk of each row; the lists lie in memory, beside those of all rows."""

    def __init__(self, function: KernelFunction) -> None:
        super().__init__(function)
        function.strategy = "selection"
        (self._stage,) = function.kernel.stages
        where = self._stage.node.list_dim
        assert where is not None
        self._values = self._stage.node.op.results[-2:]
        stride = Size.product(shape_of(self._stage.value)[where + 1 :])
        self._k = selected(self._stage)
        for value in self._values:
            function.buffer(value)
        keys, places = (function.pointers[value] for value in self._values)
        self._lists = ListFunctions(function, (keys, places), self._k, function.size(stride))

    def _row(self, row: Row) -> None:
        ops, function = row.ops, self.function
        access: Access = self._stage.written
        base = function.offset(ops, self._stage.value, self._stage, access, row.places)
        best = self._lists.of_row(base)
        ops.store(ops.index(0), self._lists.count, 0, None)

        def at(step: Step, _: Held) -> Held:
            self._challenge(step, best)
            return ()

        first, count = self._bounds()
        body = self._body(row, [self._stage], at)
        self._walk(row, first, count, self._lanes).run((), body)
        best.call(ops, self._lists.sort)

    def _challenge(self, step: Step, best: BestList) -> None:
        """Lets the list have a look at the keys of a step."""
        ops, lists = step.ops, self._lists
        (key,) = step.values(self._stage, ())
        keys = ops.spread(key, step.lanes)
        bits = self._bits(step, keys)
        some = ops.compare("ne", bits, ops.integer(0, i64))

        def look(inner: Ops) -> tuple[()]:
            memory = self.function.scratch(element_type(keys), step.lanes)
            inner.store(keys, memory, 0, None)
            axis = self.function.kernel.frame.axis
            assert axis is not None
            first = self.function.index(inner, axis, step.row.places)
            name = lists.challenge(memory)
            best.call(inner, name, bits, first, memory, lists.count, lists.worst)
            return ()

        ops.when(some, (), look)

    def _bits(self, step: Step, keys: SSAValue) -> SSAValue:
        """A bit for each lane that is there and may belong to the list."""
        ops, lists = step.ops, self._lists
        worst = ops.load(lists.worst, 0, 0, None)
        better = _as_bits(ops, ops.compare("sgt", keys, ops.spread(worst, step.lanes)))
        is_full = ops.compare("uge", ops.load(lists.count, 0, 0, None), ops.index(self._k))
        all_lanes = ops.integer((1 << step.lanes) - 1, i64)
        bits = ops.select(is_full, better, all_lanes)
        if step.end is None:
            return bits
        present = ops.index(step.present)
        some = ops.compare("sgt", present, ops.index(0))
        absent = ops.value(arith.SubiOp(ops.index(64), present))
        mask = ops.value(
            arith.ShRUIOp(ops.integer(-1, i64), ops.value(arith.IndexCastOp(absent, i64)))
        )
        there = ops.select(some, mask, ops.integer(0, i64))
        return ops.value(arith.AndIOp(bits, there))


def _as_bits(ops: Ops, truths: SSAValue) -> SSAValue:
    """Lane j as bit j of an integer."""
    lanes = lanes_of(truths)
    kind = IntegerType(lanes)
    packed = ops.value(vector.BitcastOp(truths, VectorType(kind, [1])))
    bits = ops.value(vector.ExtractOp(packed, [0], kind))
    return bits if lanes == 64 else ops.value(arith.ExtUIOp(bits, i64))
