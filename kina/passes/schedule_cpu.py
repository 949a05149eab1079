"""`schedule-cpu`: kernels with their threads, and a transform-dialect schedule for them.

Takes what assert-to-status and the expansions leave: C functions whose bodies are linalg on
tensors. Each block of linalg becomes a sequence of calls of private functions, the kernels; the
schedule that upstream's `transform-interpreter` runs on them is left in the module's attribute
`kina.schedule`. See `docs/schedule.md`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, bufferization, func, linalg, scf, tensor
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from kina.passes.scheduling.buffers import Buffers
from kina.passes.scheduling.callee import Caller
from kina.passes.scheduling.graph import base_of, shape_of
from kina.passes.scheduling.invocations import lower_invocations, place_results
from kina.passes.scheduling.kernels import Kernel, Plan
from kina.passes.scheduling.launch import launch
from kina.passes.scheduling.transform import Scheduled, schedule_text

SCHEDULE = "kina.schedule"
"""The module's attribute that holds the schedule."""

_PURE = (
    arith.ConstantOp,
    bufferization.ToTensorOp,
    linalg.ops.FillOp,
    linalg.ops.GenericOp,
    tensor.CollapseShapeOp,
    tensor.DimOp,
    tensor.EmptyOp,
    tensor.ExpandShapeOp,
)


@dataclass(frozen=True)
class ScheduleCpu(ModulePass):
    """Form kernels and write their schedule; `threads` lets a team do large ones."""

    name = "schedule-cpu"

    threads: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every function that has a body, in place."""
        scheduled: list[Scheduled] = []
        for function in list(op.ops):
            if isinstance(function, func.FuncOp) and not function.is_declaration:
                _schedule_function(op, function, scheduled, self.threads)
        op.attributes[SCHEDULE] = StringAttr(schedule_text(scheduled))


def _schedule_function(
    module: ModuleOp, function: func.FuncOp, scheduled: list[Scheduled], threads: bool
) -> None:
    buffers = Buffers(function.body.block)
    caller = Caller(module, function.sym_name.data, buffers, threads, scheduled)
    place_results(function, buffers)
    for block in list(_blocks(function)):
        _schedule_block(caller, block)
    buffers.release()


def _blocks(function: func.FuncOp) -> Iterator[Block]:
    """The function's own block, then those of its branches."""
    yield function.body.block
    for op in function.walk():
        if isinstance(op, scf.IfOp):
            yield from (block for region in op.regions for block in region.blocks)


def _schedule_block(caller: Caller, block: Block) -> None:
    plan = Plan(block)
    _choose_destinations(plan, caller.buffers)
    pending: list[Kernel] = []
    caller.buffers.computed.update(v for _, kernel in plan.kernels() for v in kernel.outputs)
    for step in plan.steps:
        if isinstance(step, Kernel):
            pending.append(step)
        else:
            for kernel in pending:
                launch(caller, kernel, step)
            pending.clear()
            _read_stored(step, plan, caller.buffers)
    lower_invocations(block, caller.buffers)
    _erase_unused(block)
    for op in list(block.ops):
        if isinstance(op, tensor.EmptyOp) and shape_of(op.tensor):
            caller.buffers.own(op)
    _erase_unused(block)


def _choose_destinations(plan: Plan, buffers: Buffers) -> None:
    """Outputs are computed where they belong; a value stored twice is copied the second time."""
    for op in list(plan.steps):
        if isinstance(op, bufferization.MaterializeInDestinationOp):
            base = base_of(op.source)
            if base in plan.nodes and base not in buffers:
                buffers.store_in(base, op.dest)
                plan.drop(op)


def _read_stored(op: Operation, plan: Plan, buffers: Buffers) -> None:
    """Lets an op outside of the kernels, and what it contains, read what kernels stored."""
    for user in op.walk():
        for i, operand in enumerate(user.operands):
            if base_of(operand) in plan.nodes and not isinstance(user, linalg.ops.GenericOp):
                user.operands[i] = buffers.tensor(operand, op)


def _erase_unused(block: Block) -> None:
    for op in reversed(list(block.ops)):
        if isinstance(op, _PURE) and not any(result.uses for result in op.results):
            block.erase_op(op)
