"""A team of threads: a function of what each of them does, and the share that falls to it.

`kina$run` (`backend/pool.c`) calls the function once for each share, on as many threads as there
are; it hands on one pointer, to what the function captured.
"""

from __future__ import annotations

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import i64
from xdsl.ir import Block, Operation, Region, SSAValue

from kina.passes.scheduling.buffers import INDEX, insert, insert_op
from kina.passes.scheduling.callee import Caller

THREADS, RUN = "kina$threads", "kina$run"
"""The functions of the pool; no program has a `$` in a name."""


def team_size(caller: Caller, want: SSAValue, before: Operation) -> SSAValue:
    """As many threads as are wanted, if a call may use so many."""
    caller.declare(THREADS, [], [INDEX])
    most = insert(func.CallOp(THREADS, [], [INDEX]), before)
    return insert(arith.MinUIOp(want, most), before)


class Team:
    """What each thread of a team does, in the making."""

    def __init__(self, caller: Caller) -> None:
        # A large dialect: most programs are too small for threads and skip it.
        from xdsl.dialects.llvm import LLVMPointerType

        self._caller = caller
        self.body = Block(arg_types=[LLVMPointerType(), i64, i64])
        self._context, me, team = self.body.args
        self._me, self._team = self._cast(me), self._cast(team)
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

    def start(self, size: SSAValue, before: Operation) -> None:
        """Adds the function, and before an op the call that shares it among `size` threads."""
        from xdsl.dialects import llvm

        from kina.passes.scheduling.captured import POINTER, Captured

        captured = Captured(self.body)
        captured.unpack(self._context)
        self.body.add_op(llvm.ReturnOp())
        # The last kernel is what the team calls.
        name = f"{self._caller.last_kernel}$share"
        kind = llvm.LLVMFunctionType(self.body.arg_types)
        self._caller.module.body.block.add_op(llvm.FuncOp(name, kind, body=Region(self.body)))
        self._caller.declare(RUN, [POINTER, POINTER, INDEX], [])
        task = insert(llvm.AddressOfOp(name, POINTER), before)
        insert_op(
            func.CallOp(RUN, [task, captured.pack(self._caller.buffers, before), size], []), before
        )
