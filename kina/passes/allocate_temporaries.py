"""`allocate-temporaries`: every tensor that a function makes gets memory of its own, checked.

For plain loops; `schedule-cpu` does the same for what its kernels share. Where memory cannot be
had, the function returns "out of memory" before anything is written. Bufferization then finds all
results in place and allocates nothing.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import func, tensor
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.passes import ModulePass

from kina.machine import MACHINES, USUAL
from kina.passes.lowering.layout import TAKEN
from kina.passes.scheduling.buffers import Buffers
from kina.passes.scheduling.held import declare_memory
from kina.passes.scheduling.invocations import lower_invocations, place_results
from kina.passes.scheduling.taken import fill_result


class AllocateTemporaries(ModulePass):
    """Replace each `tensor.empty` by memory, allocated on entry and freed at the end.

    Calls of other functions take pointers to it.
    """

    name = "allocate-temporaries"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every function that has a body, in place."""
        held = declare_memory(op)
        for function in op.ops:
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                _allocate(function, held=held)


def _allocate(function: func.FuncOp, *, held: bool) -> None:
    buffers = Buffers(function, MACHINES[USUAL], held=held)
    place_results(function, buffers)
    for block in [
        block for op in function.walk() for region in op.regions for block in region.blocks
    ]:
        lower_invocations(block, buffers)
    for op in list(function.walk()):
        if isinstance(op, GenericOp) and TAKEN in op.attributes:
            fill_result(op, buffers)
    for op in list(function.walk()):
        if isinstance(op, tensor.EmptyOp):
            buffers.own(op)
            op.detach()
            op.erase()
    buffers.finish()
