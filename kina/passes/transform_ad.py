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
from kina.passes.inline_calls import insert_body


class _Expander(CalleesFirst):
    """Expands the functions of one module."""

    pass_name = "transform-ad"
    users = (VjpOp,)

    def callee_name(self, op: Operation) -> str:
        """The function that is differentiated."""
        assert isinstance(op, VjpOp)
        return op.callee.string_value()

    def replace(self, op: Operation, callee: FuncOp) -> None:
        """Put the body of the callee and of its gradients in place of the `kina.vjp`."""
        # The rules of all operations: only loaded by a program that has a gradient.
        from kina.passes.vjp.differentiate import differentiate

        assert isinstance(op, VjpOp)
        gradient = differentiate(callee, op.wrt_values)
        results = insert_body(gradient, op.operands, vjp_binding(op, callee), op)
        Rewriter.replace_op(op, [], results)


@dataclass(frozen=True)
class TransformAd(ModulePass):
    """Expands reverse mode on kina IR without calls (after inline-calls).

    Raises KinaTypeError, `Argmax VJP is unsupported.`, at an argmax that a differentiated result
    depends on (seed 17).
    """

    name = "transform-ad"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites the module in place."""
        _Expander.run(op)
