"""OpenMP: a team of threads, and the part of a loop that falls to each of them."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import DenseArrayBase
from xdsl.ir import Block, Operation, Region, SSAValue

from kina.passes.scheduling.buffers import INDEX, insert
from kina.passes.scheduling.callee import I32, Caller


def team_size(caller: Caller, want: SSAValue, before: Operation) -> SSAValue:
    """As many threads as are wanted, if the runtime has so many."""
    limit = insert(caller.runtime("omp_get_max_threads"), before)
    most = insert(arith.IndexCastOp(limit, INDEX), before)
    return insert(arith.MinUIOp(want, most), before)


class Team:
    """The body of a parallel region, in the making."""

    def __init__(self, caller: Caller) -> None:
        self.body = Block()
        me, team = (caller.runtime(f"omp_get_{what}") for what in ("thread_num", "num_threads"))
        self._me = self._cast(self.add(me))
        self._team = self._cast(self.add(team))
        self._next = self.add(arith.AddiOp(self._me, self.constant(1)))

    def add(self, op: Operation) -> SSAValue:
        """Appends an op with a result."""
        self.body.add_op(op)
        return op.results[0]

    def constant(self, value: int) -> SSAValue:
        """An index."""
        return self.add(arith.ConstantOp.from_int_and_width(value, INDEX))

    def share(self, units: SSAValue) -> tuple[SSAValue, SSAValue]:
        """The first of `units` that falls to the running thread, and the first that does not."""
        return self._bound(units, self._me), self._bound(units, self._next)

    def _bound(self, units: SSAValue, thread: SSAValue) -> SSAValue:
        return self.add(arith.DivUIOp(self.add(arith.MuliOp(units, thread)), self._team))

    def _cast(self, value: SSAValue) -> SSAValue:
        return self.add(arith.IndexCastOp(value, INDEX))

    def start(self, size: SSAValue, before: Operation) -> Operation:
        """The region, run by at most `size` threads."""
        # The largest dialect of all: most programs are too small for threads and skip it.
        from xdsl.dialects import omp

        self.body.add_op(omp.TerminatorOp())
        segments = DenseArrayBase.from_list(I32, [0, 0, 0, 1, 0, 0])
        return omp.ParallelOp.create(
            operands=[insert(arith.IndexCastOp(size, I32), before)],
            regions=[Region(self.body)],
            properties={"operandSegmentSizes": segments},
        )
