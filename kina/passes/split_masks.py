"""`split-masks`: masked loads and stores of many lanes are done by a few lanes.

LLVM's back end for WebAssembly takes the truths of 32 or 64 lanes together wrongly; 16 it can.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.context import Context
from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from kina.passes.kernels.ops import Ops, lanes_of

PIECE = 16
"""Lanes of a piece."""


class SplitMasks(ModulePass):
    """Replace each masked load and store of more lanes by several."""

    name = "split-masks"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrite the module in place."""
        for masked in list(op.walk()):
            if isinstance(masked, vector.MaskedLoadOp | vector.MaskedStoreOp):
                lanes = lanes_of(masked.mask)
                if lanes > PIECE and lanes % PIECE == 0:
                    _replace(masked, range(0, lanes, PIECE))


def _replace(masked: vector.MaskedLoadOp | vector.MaskedStoreOp, starts: Sequence[int]) -> None:
    ops = Ops(Block(), masked.location)
    if isinstance(masked, vector.MaskedLoadOp):
        results = [ops.joined([_loaded(ops, masked, start) for start in starts])]
    else:
        results = list[SSAValue]()
        for start in starts:
            _store(ops, masked, start)
    new: list[Operation] = list(ops.block.ops)
    for op in new:
        op.detach()
    Rewriter.replace_op(masked, new, results)


def _loaded(ops: Ops, load: vector.MaskedLoadOp, start: int) -> SSAValue:
    mask, default = (_piece(ops, value, start) for value in (load.mask, load.pass_thru))
    place = _place(ops, load.indices, start)
    return ops.value(vector.MaskedLoadOp(load.base, place, mask, default))


def _store(ops: Ops, store: vector.MaskedStoreOp, start: int) -> None:
    mask, value = (_piece(ops, each, start) for each in (store.mask, store.value_to_store))
    place = _place(ops, store.indices, start)
    ops.append(vector.MaskedStoreOp(store.base, place, mask, value))


def _piece(ops: Ops, value: SSAValue, start: int) -> SSAValue:
    """Some lanes; those of a mask are counted anew."""
    made = value.owner
    if not isinstance(made, vector.CreateMaskOp):
        return ops.lanes_of(value, range(start, start + PIECE))
    (count,) = made.mask_dim_sizes
    left = ops.value(arith.SubiOp(count, ops.index(start))) if start else count
    return ops.mask(left, PIECE)


def _place(ops: Ops, indices: Sequence[SSAValue], start: int) -> list[SSAValue]:
    *outer, last = indices
    return [*outer, ops.value(arith.AddiOp(last, ops.index(start))) if start else last]
