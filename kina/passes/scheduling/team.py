"""A team of threads: a function of what each of them does, and the share that falls to it.

`kina$run` (`backend/pool.c`) calls the function once for each share, on as many threads as there
are; it hands on one pointer, to what the function captured.
"""

from __future__ import annotations

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import i64
from xdsl.ir import Block, SSAValue

from kina.dialects.pointers import POINTER, AddressOfOp, ReturnOp, RoutineOp
from kina.passes.builder import INDEX, Builder
from kina.passes.scheduling.callee import RUN, THREADS, Caller
from kina.passes.scheduling.captured import Captured


def team_size(caller: Caller, want: SSAValue, at: Builder) -> SSAValue:
    """As many threads as are wanted, if a call may use so many."""
    caller.declare(THREADS, [], [INDEX])
    most = at.value(func.CallOp(THREADS, [], [INDEX]))
    return at.value(arith.MinUIOp(want, most))


class Team(Builder):
    """Builds what each thread of a team does."""

    def __init__(self, caller: Caller) -> None:
        super().__init__(Block(arg_types=[POINTER, i64, i64]))
        self._caller = caller
        self._context, me, team = self.block.args
        self.me, self.size = self._cast(me), self._cast(team)
        """The number of the running thread, and of how many."""

    def share(
        self, units: SSAValue, me: SSAValue | None = None, size: SSAValue | None = None
    ) -> tuple[SSAValue, SSAValue]:
        """The first of `units` that falls to the running thread, and the first that does not.

        `me` and `size` are its number among those that share them, if not all do.
        """
        me, size = me or self.me, size or self.size
        following = self.value(arith.AddiOp(me, self.index(1)))
        return self._bound(units, me, size), self._bound(units, following, size)

    def _bound(self, units: SSAValue, thread: SSAValue, size: SSAValue) -> SSAValue:
        return self.value(arith.DivUIOp(self.value(arith.MuliOp(units, thread)), size))

    def _cast(self, value: SSAValue) -> SSAValue:
        return self.value(arith.IndexCastOp(value, INDEX))

    def start(self, size: SSAValue, at: Builder) -> None:
        """Adds the function, and the call that shares it among `size` threads."""
        captured = Captured(self.block)
        captured.unpack(self._context)
        self.append(ReturnOp())
        # The last kernel is what the team calls.
        name = f"{self._caller.last_kernel}$share"
        self._caller.module.body.block.add_op(RoutineOp(name, self.block))
        self._caller.declare(RUN, [POINTER, POINTER, INDEX], [])
        task = at.value(AddressOfOp(name))
        values = captured.pack(self._caller.buffers, at)
        at.append(func.CallOp(RUN, [task, values, size], []))
