"""Contractions: one `linalg.generic` whose element is a chain of fused multiply-adds."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, math
from xdsl.ir import SSAValue

from kina.contraction import Contraction
from kina.dialects.contraction import ContractOp
from kina.passes.builder import Builder
from kina.passes.lowering.context import Lowering
from kina.passes.lowering.generic import Access, generic
from kina.passes.lowering.storage import storage_element


def lower_contract(state: Lowering, op: ContractOp) -> None:
    """Lower a contraction of F32 or of whole integers (decompose-kina widens the others).

    The form of the specification runs the sum innermost; the fast one has the last axis of the
    result there, along which vectors run. Each element is the same chain in both.
    """
    type_ = op.kina_type
    loops = op.loops
    order = _nest(loops, fast=state.fast)
    place = {loop: position for position, loop in enumerate(order)}

    def access(tensor: SSAValue, walked: Sequence[int]) -> Access:
        return Access(tensor, tuple(place[loop] for loop in walked))

    operands = zip(op.operands, (loops.left, loops.right), strict=True)
    inputs = [access(state.value(operand), walked) for operand, walked in operands]
    start = state.filled(0, storage_element(type_.dtype), type_.dims)
    (result,) = generic(
        state.builder,
        len(order),
        inputs,
        [access(start, range(loops.rank))],
        _add_product if type_.dtype.is_float else _add_integers,
        reduced={place[loop] for loop in loops.summed},
    )
    state.bind(op.result, result)


def _nest(loops: Contraction, *, fast: bool) -> list[int]:
    """The loops from the outside in."""
    rows = list(range(loops.rank))
    innermost = rows[-1:] if fast else []
    return [*rows[: len(rows) - len(innermost)], *loops.summed, *innermost]


def _add_product(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
    return [inner.value(math.FmaOp(elements[0], elements[1], elements[2]))]


def _add_integers(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
    product = inner.value(arith.MuliOp(elements[0], elements[1]))
    return [inner.value(arith.AddiOp(product, elements[2]))]
