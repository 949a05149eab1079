"""`schedule-cpu`: kernels with their loops and threads.

Takes what assert-to-status and the expansions leave: C functions whose bodies are linalg on
tensors. Each block of linalg becomes a sequence of calls of private functions, the kernels, which
are loops over vectors on memory. See `docs/schedule.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import arith, bufferization, func, linalg, scf, tensor
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Block, Operation
from xdsl.passes import ModulePass

from kina.machine import MACHINES, USUAL
from kina.passes.builder import Builder
from kina.passes.scheduling.blocks import launch_pipeline
from kina.passes.scheduling.buffers import Buffers
from kina.passes.scheduling.callee import Caller
from kina.passes.scheduling.graph import base_of
from kina.passes.scheduling.held import declare_memory
from kina.passes.scheduling.invocations import lower_invocations, place_results
from kina.passes.scheduling.kernels import Kernel, Plan
from kina.passes.scheduling.launch import launch
from kina.passes.scheduling.moved import MOVED, Traffic
from kina.passes.scheduling.pipelines import Pipeline, with_pipelines
from kina.passes.scheduling.same import Shared
from kina.passes.scheduling.taken import where_needed

KERNELS = "kina.kernels"
"""The module's attribute that says in words what its kernels are, a line each."""

_PURE = (
    arith.ConstantOp,
    bufferization.ToTensorOp,
    linalg.ops.FillOp,
    linalg.ops.GenericOp,
    tensor.CollapseShapeOp,
    tensor.DimOp,
    tensor.EmptyOp,
    tensor.ExpandShapeOp,
    tensor.ExtractSliceOp,
    tensor.InsertSliceOp,
)


@dataclass(frozen=True)
class ScheduleCpu(ModulePass):
    """Form kernels and write their loops; `threads` lets a team do large ones."""

    name = "schedule-cpu"

    threads: bool = False
    machine: str = USUAL

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite every function that has a body, in place."""
        described: list[str] = []
        shared, machine, traffic = Shared(), MACHINES[self.machine], Traffic()
        functions = [function for function in op.ops if isinstance(function, func.FuncOp)]
        held = declare_memory(op)
        for function in functions:
            if not function.is_declaration:
                name, buffers = function.sym_name.data, Buffers(function, machine, held=held)
                caller = Caller(op, name, buffers, self.threads, machine, shared)
                traffic.add_calls(function, op)
                described += _schedule_function(caller, function, traffic)
        op.attributes[KERNELS] = ArrayAttr(map(StringAttr, described))
        op.attributes[MOVED] = traffic.attribute()


def _schedule_function(caller: Caller, function: func.FuncOp, traffic: Traffic) -> list[str]:
    """Form the kernels of a function; what they are, in words."""
    place_results(function, caller.buffers)
    blocks = list(_blocks(function))
    for block in blocks:
        _schedule_block(caller, block, traffic)
    # What a branch read is only unused when the branch is done, too.
    _erase_unused(blocks)
    for block in blocks:
        for op in list(block.ops):
            if isinstance(op, tensor.EmptyOp):
                caller.buffers.own(op)
    _erase_unused(blocks)
    caller.buffers.finish()
    return caller.described


def _blocks(function: func.FuncOp) -> Iterator[Block]:
    """The function's own block, then those of its branches."""
    yield function.body.block
    for op in function.walk():
        if isinstance(op, scf.IfOp):
            yield from (block for region in op.regions for block in region.blocks)


def _schedule_block(caller: Caller, block: Block, traffic: Traffic) -> None:
    plan = Plan(block, caller.machine)
    _choose_destinations(plan, caller.buffers)
    pending: list[Kernel | Pipeline] = []
    steps = with_pipelines(plan.steps, caller.buffers.placed, caller.machine)
    traffic.add(caller.name, [kernel for _, kernel in plan.kernels()])
    for _, kernel in plan.kernels():
        caller.buffers.computed.update(kernel.outputs)
        for stage in kernel.stages:
            if stage.home is not stage.value:
                caller.buffers.write_in(stage.value, stage.home)
    for step in steps:
        if isinstance(step, Kernel | Pipeline):
            pending.append(step)
        else:
            for waiting in pending:
                _launch(caller, waiting, Builder(step))
            pending.clear()
            _read_stored(step, plan, caller.buffers)
    lower_invocations(block, caller.buffers)
    _forget_bodies(plan)


def _launch(caller: Caller, step: Kernel | Pipeline, at: Builder) -> None:
    if isinstance(step, Pipeline):
        launch_pipeline(caller, step, at)
    else:
        launch(caller, step, where_needed(step, caller.buffers, at))


def _choose_destinations(plan: Plan, buffers: Buffers) -> None:
    """Outputs are computed where they belong; a value stored twice is copied the second time."""
    for op in list(plan.steps):
        if isinstance(op, bufferization.MaterializeInDestinationOp):
            base = base_of(op.source)
            if plan.makes(base) and base not in buffers:
                buffers.store_in(base, op.dest)
                plan.drop(op)


def _forget_bodies(plan: Plan) -> None:
    """What kernels were made from is not needed any more, nor what only they name."""
    for _, kernel in plan.kernels():
        for stage in kernel.stages:
            for op in stage.block.ops:
                op.drop_all_references()


def _read_stored(op: Operation, plan: Plan, buffers: Buffers) -> None:
    """Lets an op outside of the kernels, and what it contains, read what kernels stored."""
    at = Builder(op)
    for user in op.walk():
        for i, operand in enumerate(user.operands):
            if plan.makes(base_of(operand)) and not isinstance(user, linalg.ops.GenericOp):
                user.operands[i] = buffers.tensor(operand, at)


def _erase_unused(blocks: Sequence[Block]) -> None:
    """The innermost first: nothing in it is read outside of it."""
    for block in reversed(blocks):
        for op in reversed(list(block.ops)):
            if isinstance(op, _PURE) and not any(result.uses for result in op.results):
                block.erase_op(op)
