"""Joins what the pieces of rows gave, in order: a small function for each reduction."""

from __future__ import annotations

from xdsl.dialects import arith, func, linalg, memref, scf
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    FunctionType,
    MemRefType,
    StringAttr,
)
from xdsl.ir import Block, Operation, Region, SSAValue

from kina.passes.scheduling.buffers import INDEX
from kina.passes.scheduling.fusion import Stage
from kina.passes.scheduling.generic import index_constant
from kina.passes.scheduling.graph import element_of, owner

SMALL_CODE = ArrayAttr(map(StringAttr, ("minsize", "noinline")))
"""Attributes of an LLVM function that does too little to be compiled at length."""


def join_function(name: str, stage: Stage) -> func.FuncOp:
    """The private function (pieces, rows, partial results, results): `stage` says how to join.

    The partial results of a piece, one per row, lie together.
    """
    pointer = MemRefType(stage.element, [])
    block = Block(arg_types=[INDEX, INDEX, pointer, pointer])
    count, rows, partial, target = block.args

    def add(op: Operation) -> SSAValue:
        block.add_op(op)
        return op.results[0]

    zero, one = add(index_constant(0)), add(index_constant(1))
    partial = add(_flat(partial, add(arith.MuliOp(count, rows))))
    target = add(_flat(target, rows))
    start = add(_identity(stage))
    of_row = Block(arg_types=[INDEX])
    row = of_row.args[0]
    pieces = scf.ForOp(zero, count, one, [start], _step(stage, partial, rows, row))
    store = memref.StoreOp.get(pieces.results[0], target, [row])
    of_row.add_ops([pieces, store, scf.YieldOp()])
    block.add_ops([scf.ForOp(zero, rows, one, [], of_row), func.ReturnOp()])
    signature = FunctionType.from_lists([argument.type for argument in block.args], [])
    function = func.FuncOp(name, signature, Region(block), StringAttr("private"))
    function.attributes["passthrough"] = SMALL_CODE
    return function


def _flat(pointer: SSAValue, count: SSAValue) -> memref.ReinterpretCastOp:
    kind = MemRefType(element_of(pointer), [DYNAMIC_INDEX])
    return memref.ReinterpretCastOp(pointer, [], [count], [], [0], [DYNAMIC_INDEX], [1], kind)


def _identity(stage: Stage) -> Operation:
    """What the reduction starts from."""
    fill = stage.node.op.outputs[0].owner
    assert isinstance(fill, linalg.ops.FillOp)
    constant = owner(fill.inputs[0])
    assert constant is not None
    return constant.clone()


def _step(stage: Stage, partial: SSAValue, rows: SSAValue, row: SSAValue) -> Block:
    """Joins what one piece of a row gave to what those before it gave."""
    body = Block(arg_types=[INDEX, stage.element])
    number, so_far = body.args
    start = arith.MuliOp(number, rows)
    place = arith.AddiOp(start, row)
    load = memref.LoadOp.get(partial, [place.result])
    last = stage.block.last_op
    assert last is not None
    combine = owner(last.operands[0])
    assert combine is not None
    values: dict[SSAValue, SSAValue] = dict.fromkeys(combine.operands, load.res)
    values[stage.block.args[-1]] = so_far
    joined = combine.clone(value_mapper=values)
    body.add_ops([start, place, load, joined, scf.YieldOp(joined.results[0])])
    return body
