"""Which formula a composite operation on F32 is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from kina.dialects.base import KinaOp
from kina.lazy import LazyTable
from kina.passes.tensor_builder import TensorBuilder

Formula = Callable[[TensorBuilder, Any], SSAValue]
"""Appends what an operation is made of; its value."""

FORMULAS: LazyTable[Formula] = LazyTable(
    "kina.passes.decomposition",
    {
        "kina.sigmoid": "activations.sigmoid",
        "kina.log_sigmoid": "activations.log_sigmoid",
        "kina.softplus": "activations.softplus",
        "kina.silu": "activations.silu",
        "kina.gelu": "activations.gelu",
        "kina.gelu_tanh": "activations.gelu_tanh",
        "kina.xlogy": "activations.xlogy",
        "kina.logsumexp": "fibers.logsumexp",
        "kina.rms_norm": "fibers.rms_norm",
        "kina.layer_norm": "fibers.layer_norm",
    },
)
"""By the name of the operation."""


class DecomposeComposite(RewritePattern):
    """A composite on F32 becomes its formula; small floats compute in F32 as a whole before."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        if op.name not in FORMULAS or not isinstance(op, KinaOp):
            return
        if op.kina_type.dtype.is_small_float:
            return
        builder = TensorBuilder(Block(), op.location)
        value = FORMULAS[op.name](builder, op)
        rewriter.replace(op, builder.taken(), [value])
