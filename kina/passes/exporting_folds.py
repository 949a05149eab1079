"""Loops over layers on their way to C: the `scf.for` of a fold becomes `kina.invoke_layers`."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects import func, scf
from xdsl.dialects.tensor import ExtractSliceOp, InsertSliceOp
from xdsl.ir import BlockArgument, SSAValue
from xdsl.rewriter import Rewriter

from kina.dialects.invoke import InvokeLayersOp
from kina.passes.exporting_calls import Callee, Exported, uncast


def call_in(loop: scf.ForOp) -> func.CallOp | None:
    """The call that a loop is there for, if it is that of a fold."""
    return next((op for op in loop.body.block.ops if isinstance(op, func.CallOp)), None)


def invoke_layers(
    loop: scf.ForOp, call: func.CallOp, callee: Callee, sizes: Mapping[str, SSAValue]
) -> None:
    """Replace the loop around a call, as lower-kina made it."""
    body = loop.body.block
    carried: list[SSAValue] = []
    over: list[SSAValue] = []
    whole: list[SSAValue] = []
    forward = True
    for operand in map(uncast, call.operands):
        if isinstance(operand, BlockArgument) and operand.block is body:
            carried.append(loop.iter_args[operand.index - 1])
        elif isinstance(operand.owner, ExtractSliceOp) and operand.owner.parent is body:
            over.append(operand.owner.source)
            forward = operand.owner.offsets[0] is body.args[0]
        else:
            whole.append(operand)
    exported = Exported(call, callee, sizes, loop)
    passed = exported.passed_sizes()
    # Where stacks begin there is a tensor to be written.
    outs = [*exported.empty_results(len(carried)), *loop.iter_args[len(carried) :]]
    op = InvokeLayersOp(
        callee.symbol, passed, (carried, over, whole), outs, _kept(loop), reverse=not forward
    )
    exported.at.append(op)
    Rewriter.replace_op(loop, [], op.made)


def _kept(loop: scf.ForOp) -> list[int]:
    """Of the values that each layer takes, those that the loop stacks."""
    end = loop.body.block.last_op
    assert isinstance(end, scf.YieldOp)
    stacked = [v.owner.source for v in end.operands if isinstance(v.owner, InsertSliceOp)]
    return [value.index - 1 for value in stacked if isinstance(value, BlockArgument)]
