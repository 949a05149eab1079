"""`transform-ad`: every `kina.vjp` becomes the function's body and that of its gradients.

Reverse accumulation on kina IR: the forward operations are there once and the gradients read
them; cotangents are summed where a value has several uses; nothing is computed for values that
no gradient depends on. A call goes back through a call of the callee's pullback, a fold through a
fold. The rules are in `kina/passes/vjp`, one per operation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import CallOp as FuncCallOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from kina.dialects.call import CallOp
from kina.dialects.vjp import VjpOp, vjp_binding
from kina.passes.callees_first import CalleesFirst
from kina.passes.inline_calls import CALLS, USES, callee_name, insert_body
from kina.passes.limits import check_size

if TYPE_CHECKING:
    from kina.passes.vjp.ports import Library


class _Expander(CalleesFirst):
    """Expands the functions of one module."""

    pass_name = "transform-ad"
    users = (VjpOp, *USES)

    def __init__(self, functions: dict[str, FuncOp]) -> None:
        super().__init__(functions)
        self.library: Library | None = None
        """The functions of gradients, if there are any."""

    def callee_name(self, op: Operation) -> str:
        """The function that is differentiated, or called: its own gradients come first."""
        return callee_name(op)

    def replace(self, op: Operation, callee: FuncOp) -> None:
        """Put the body of the callee and of its gradients in place of the `kina.vjp`."""
        if isinstance(op, CALLS):
            _read_through(op, callee)
        if not isinstance(op, VjpOp):
            return
        # The rules of all operations: only loaded by a program that has a gradient.
        from kina.passes.vjp.differentiate import differentiate
        from kina.passes.vjp.ports import Library

        self.library = library = self.library or Library(self.functions)
        gradient = differentiate(library, callee, op.wrt_values)
        results = insert_body(gradient, op.operands, vjp_binding(op, callee), op)
        function = self.functions[self.active[-1]]
        Rewriter.insert_op(library.take_made(), InsertPoint.before(function))
        Rewriter.replace_op(op, [], results)

    def finish(self, function: FuncOp) -> None:
        """Also leave out pullbacks of which nothing is read."""
        super().finish(function)
        if self.library is not None:
            self.library.erase_unused(function.body.block)


def _read_through(call: CallOp | FuncCallOp, callee: FuncOp) -> None:
    """A result that is an argument of the call, or an earlier result, is that value."""
    returned = callee.get_return_op()
    assert returned is not None
    firsts: dict[SSAValue, SSAValue] = {}
    for value, result in zip(returned.operands, call.results, strict=True):
        if isinstance(value, BlockArgument):
            firsts[value] = call.operands[value.index]
        same = firsts.setdefault(value, result)
        if same is not result:
            result.replace_all_uses_with(same)


class TransformAd(ModulePass):
    """Expands reverse mode on kina IR, after inline-calls.

    What is differentiated may call: a private function is added for each way in which a gradient
    uses a callee. No function may grow past `MAX_OPERATIONS`.

    Raises KinaTypeError, `Argmax VJP is unsupported.`, at an argmax that a differentiated result
    depends on (seed 17).
    """

    name = "transform-ad"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites the module in place."""
        expander = _Expander.run(op)
        if expander.library is not None:
            expander.library.erase_unreferenced()
        for function in op.ops:
            if isinstance(function, FuncOp):
                check_size(function)
