"""`transform-ad`: every `kina.vjp` becomes the function's body and that of its gradients.

Reverse accumulation on kina IR: the forward operations are there once and the gradients read
them; cotangents are summed where a value has several uses; nothing is computed for values that
no gradient depends on. The rules are in `kina/passes/vjp`, one per operation.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from kina.dialects.vjp import VjpOp, vjp_binding
from kina.passes.callees_first import CalleesFirst
from kina.passes.inline_calls import CALLS, callee_name, inline, insert_body
from kina.passes.limits import MAX_OPERATIONS, check_size, too_large


class _Expander(CalleesFirst):
    """Expands the functions of one module."""

    pass_name = "transform-ad"
    users = (VjpOp, *CALLS)

    def callee_name(self, op: Operation) -> str:
        """The function that is differentiated, or called: its own gradients come first."""
        return callee_name(op)

    def replace(self, op: Operation, callee: FuncOp) -> None:
        """Put the body of the callee and of its gradients in place of the `kina.vjp`."""
        if not isinstance(op, VjpOp):
            return
        # The rules of all operations: only loaded by a program that has a gradient.
        from kina.passes.vjp.differentiate import differentiate

        gradient = differentiate(self._whole(callee), op.wrt_values)
        results = insert_body(gradient, op.operands, vjp_binding(op, callee), op)
        Rewriter.replace_op(op, [], results)

    def _whole(self, callee: FuncOp) -> FuncOp:
        """The function without calls: a gradient needs the values inside of them."""
        if not any(isinstance(op, CALLS) for op in callee.walk()):
            return callee
        whole = callee.clone()
        pending = [op for op in whole.body.block.ops if isinstance(op, CALLS)]
        operations = len(whole.body.block.ops)
        while pending:
            call = pending.pop()
            called = self.functions[callee_name(call)]
            operations += len(called.body.block.ops)
            if operations > MAX_OPERATIONS:
                raise too_large(callee, f"the gradient of {callee.sym_name.data} rests on")
            pending += inline(call, called)
        return whole


@dataclass(frozen=True)
class TransformAd(ModulePass):
    """Expands reverse mode on kina IR, after inline-calls.

    What is differentiated is inlined wholly; a function may not grow past `MAX_OPERATIONS`.

    Raises KinaTypeError, `Argmax VJP is unsupported.`, at an argmax that a differentiated result
    depends on (seed 17).
    """

    name = "transform-ad"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites the module in place."""
        _Expander.run(op)
        for function in op.ops:
            if isinstance(function, FuncOp):
                check_size(function)
