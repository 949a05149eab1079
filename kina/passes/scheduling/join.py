"""Joins what the pieces of rows gave, in order: a small function for each reduction."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func, linalg, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    FunctionType,
    MemRefType,
    StringAttr,
)
from xdsl.ir import Block, Operation, Region, SSAValue

from kina.passes.builder import INDEX, Builder
from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.graph import element_of, owner

SMALL_CODE = ArrayAttr(map(StringAttr, ("minsize", "noinline")))
"""Attributes of an LLVM function that gains nothing by more code."""
OUT_OF_LINE = ArrayAttr([StringAttr("noinline")])
"""Those of one that is called at several places."""


def join_function(name: str, stage: Stage) -> func.FuncOp:
    """The private function (pieces, rows, partial results…, results): `stage` says how to join.

    The partial results of a piece, one per row, lie together. A contest has two for each: a best
    value and its index, which is the result.
    """
    kinds = [INDEX, INDEX, *(MemRefType(kind, []) for kind in stage.accumulated)]
    at = Builder(block := Block(arg_types=[*kinds, MemRefType(stage.element, [])]))
    count, rows, *partial, target = block.args
    zero, one = at.index(0), at.index(1)
    total = at.value(arith.MuliOp(count, rows))
    flat = [at.value(_flat(pointer, total)) for pointer in partial]
    target = at.value(_flat(target, rows))
    starts = [at.value(_identity(output)) for output in stage.node.op.outputs]
    of_row = Block(arg_types=[INDEX])
    row = of_row.args[0]
    pieces = scf.ForOp(zero, count, one, starts, _step(stage, flat, rows, row))
    store = memref.StoreOp.get(pieces.results[-1], target, [row])
    of_row.add_ops([pieces, store, scf.YieldOp()])
    block.add_ops([scf.ForOp(zero, rows, one, [], of_row), func.ReturnOp()])
    signature = FunctionType.from_lists([argument.type for argument in block.args], [])
    function = func.FuncOp(name, signature, Region(block), StringAttr("private"))
    function.attributes["passthrough"] = SMALL_CODE
    return function


def _flat(pointer: SSAValue, count: SSAValue) -> memref.ReinterpretCastOp:
    kind = MemRefType(element_of(pointer), [DYNAMIC_INDEX])
    return memref.ReinterpretCastOp(pointer, [], [count], [], [0], [DYNAMIC_INDEX], [1], kind)


def _identity(output: SSAValue) -> Operation:
    """What a reduction starts from."""
    fill = output.owner
    assert isinstance(fill, linalg.ops.FillOp)
    constant = owner(fill.inputs[0])
    assert constant is not None
    return constant.clone()


def _step(stage: Stage, partial: Sequence[SSAValue], rows: SSAValue, row: SSAValue) -> Block:
    """Joins what one piece of a row gave to what those before it gave."""
    body = Block(arg_types=[INDEX, *stage.accumulated])
    number, *so_far = body.args
    start = arith.MuliOp(number, rows)
    place = arith.AddiOp(start, row)
    loads = [memref.LoadOp.get(buffer, [place.result]) for buffer in partial]
    body.add_ops([start, place, *loads])
    combine = combination(stage)
    values: dict[SSAValue, SSAValue] = {}
    for op, load in zip(combine[-len(loads) :], loads, strict=True):
        values |= dict.fromkeys(op.operands, load.res)
    values |= dict(zip(stage.block.args[-len(so_far) :], so_far, strict=True))
    for op in combine:
        body.add_op(op.clone(value_mapper=values))
    body.add_op(scf.YieldOp(*(values[op.results[0]] for op in combine[-len(loads) :])))
    return body


def combination(stage: Stage) -> list[Operation]:
    """The ops that join an element: one, or a contest's comparison and its two choices."""
    last = stage.block.last_op
    assert last is not None
    chosen = [op for op in map(owner, last.operands) if op is not None]
    if not stage.node.is_contest:
        return chosen
    comparison = owner(chosen[0].operands[0])
    assert comparison is not None
    return [comparison, *chosen]
