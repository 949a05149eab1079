"""`lower-kina`: kina operations become linalg on builtin tensors.

What comes out holds no `kina.` operation or type and is accepted by mlir-opt, which ignores the
marks of `extrema.py`. The form is that of the seeds: log_softmax is max, sub, exp, sum, log, sub;
take_along_axis is a bounds generic, one `cf.assert` and a generic that reads (seed 9); argmax is a
generic with two outputs (seed 17).
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from kina.dialects.callee import size_parameters
from kina.passes.decompose_kina import decompose
from kina.passes.lowering.functions import is_kina, lower_function
from kina.passes.lowering.updates import contracts_of


@dataclass(frozen=True)
class LowerKina(ModulePass):
    """Lowers every kina function; others stay as they are.

    `fast=true` gives the same values in the form that vectorises best.
    Raises KinaTypeError for @device, which has no code generator.
    """

    name = "lower-kina"

    fast: bool = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the module in place."""
        decompose(op)
        functions = [child for child in op.ops if isinstance(child, FuncOp) and is_kina(child)]
        callees = {
            child.sym_name.data: child.function_type
            for child in op.ops
            if isinstance(child, FuncOp)
        }
        sizes = {
            child.sym_name.data: size_parameters(child)
            for child in op.ops
            if isinstance(child, FuncOp)
        }
        contracts = contracts_of(
            {child.sym_name.data: child for child in op.ops if isinstance(child, FuncOp)}
        )
        for function in functions:
            lowered = lower_function(function, callees, sizes, contracts, self.fast)
            Rewriter.insert_op(lowered, InsertPoint.before(function))
            function.detach()
            function.erase()
