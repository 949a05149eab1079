"""Gradients of matrix products and contractions: contractions, with no operand transposed."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from kina.contraction import Contraction, matmul_loops
from kina.dialects.contraction import ContractOp, MatmulOp
from kina.passes.tensor_builder import type_of
from kina.passes.vjp.builder import GradientBuilder, Partial


def matmul(b: GradientBuilder, op: MatmulOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct . right^T`, summed over columns; `left^T . ct`, over rows and what right is shared by."""
    rank = type_of(op.left).rank
    return _partials(b, op, Contraction(rank, *matmul_loops(rank, type_of(op.right).rank)), ct)


def contract(b: GradientBuilder, op: ContractOp, ct: SSAValue) -> Sequence[Partial]:
    """For each operand the contraction of `ct` and the other one."""
    return _partials(b, op, op.loops, ct)


def _partials(
    b: GradientBuilder, op: MatmulOp | ContractOp, loops: Contraction, ct: SSAValue
) -> Sequence[Partial]:
    return [
        lambda: b.emit(ContractOp(ct, op.right, loops.gradient(0))),
        lambda: b.emit(ContractOp(op.left, ct, loops.gradient(1))),
    ]
