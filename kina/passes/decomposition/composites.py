"""Which formula a composite operation on F32 is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xdsl.ir import Block, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from kina.dialects.base import KinaOp
from kina.dialects.elementwise import (
    GeluOp,
    GeluTanhOp,
    LogSigmoidOp,
    SigmoidOp,
    SiluOp,
    SoftplusOp,
    XlogyOp,
)
from kina.dialects.fibers import LayerNormOp, LogSumExpOp, RmsNormOp
from kina.passes.decomposition import activations, fibers
from kina.passes.tensor_builder import TensorBuilder

Formula = Callable[[TensorBuilder, Any], SSAValue]
"""Appends what an operation is made of; its value."""

FORMULAS: dict[type[Operation], Formula] = {
    SigmoidOp: activations.sigmoid,
    LogSigmoidOp: activations.log_sigmoid,
    SoftplusOp: activations.softplus,
    SiluOp: activations.silu,
    GeluOp: activations.gelu,
    GeluTanhOp: activations.gelu_tanh,
    XlogyOp: activations.xlogy,
    LogSumExpOp: fibers.logsumexp,
    RmsNormOp: fibers.rms_norm,
    LayerNormOp: fibers.layer_norm,
}


class DecomposeComposite(RewritePattern):
    """A composite on F32 becomes its formula; small floats compute in F32 as a whole before."""

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrite one operation."""
        formula = FORMULAS.get(type(op))
        if formula is None or not isinstance(op, KinaOp) or op.kina_type.dtype.is_small_float:
            return
        builder = TensorBuilder(Block(), op.location)
        value = formula(builder, op)
        rewriter.replace(op, builder.taken(), [value])
