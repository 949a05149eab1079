"""`transform-ad`: every `kina.vjp` becomes the function's body and that of its gradients.

Reverse accumulation on kina IR: the forward operations are there once and the gradients read
them; cotangents are summed where a value has several uses; nothing is computed for values that
no gradient depends on. The rules are in `kina/passes/vjp`, one per operation.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from kina.dialects.vjp import VjpOp, vjp_binding
from kina.errors import KinaTypeError
from kina.passes.inline_calls import insert_body


@dataclass
class _Expander:
    """Expands the functions of one module, callees first."""

    functions: dict[str, FuncOp]
    done: set[str] = field(default_factory=set[str])
    active: list[str] = field(default_factory=list[str])

    def run(self, function: FuncOp) -> None:
        """Leave no `kina.vjp` in `function`."""
        name = function.sym_name.data
        if name in self.done:
            return
        self.active.append(name)
        for op in [op for op in function.walk() if isinstance(op, VjpOp)]:
            self._expand(op)
        self.active.pop()
        self.done.add(name)

    def _expand(self, op: VjpOp) -> None:
        # The rules of all operations: only loaded by a program that has a gradient.
        from kina.passes.vjp.differentiate import differentiate

        callee = self._callee(op)
        self.run(callee)
        gradient = differentiate(callee, op.wrt_values)
        results = insert_body(gradient, op.operands, vjp_binding(op, callee), op)
        Rewriter.replace_op(op, [], results)

    def _callee(self, op: VjpOp) -> FuncOp:
        """The function that `op` names; it must have a body and not be in the making."""
        name = op.callee.string_value()
        callee = self.functions[name]
        if callee.is_declaration:
            raise KinaTypeError(
                f"transform-ad: @{name} is only declared, expected a function with a body"
            )
        if name in self.active:
            raise KinaTypeError(
                f"transform-ad: @{name} is differentiated within itself, "
                "expected other functions only: the language has no recursion"
            )
        return callee


@dataclass(frozen=True)
class TransformAd(ModulePass):
    """Expands reverse mode on kina IR without calls (after inline-calls).

    Raises KinaTypeError, `Argmax VJP is unsupported.`, at an argmax that a differentiated result
    depends on (seed 17).
    """

    name = "transform-ad"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites the module in place."""
        functions = [item for item in op.body.block.ops if isinstance(item, FuncOp)]
        expander = _Expander({function.sym_name.data: function for function in functions})
        for function in functions:
            if not function.is_declaration:
                expander.run(function)
