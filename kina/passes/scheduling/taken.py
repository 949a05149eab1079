"""Windows that are written over what has been there before: what reads it is done first.

lower-kina lets an update take the memory of its operand, and orders the operations so that all
else that reads the operand stands before it. Here an elementwise value that such a reader is
inlined in must not be computed only after the write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from xdsl.dialects import bufferization, memref, scf, tensor
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from kina.passes.builder import Builder
from kina.passes.lowering.layout import OVERWRITES, TAKEN
from kina.passes.scheduling.graph import Node, made_of, owner

if TYPE_CHECKING:
    from kina.passes.scheduling.buffers import Buffers
    from kina.passes.scheduling.kernels import Kernel


def is_ordered(op: Operation) -> bool:
    """Whether an op writes over what others may have read, or makes ready for that."""
    return OVERWRITES in op.attributes or TAKEN in op.attributes


def read_before(block: Block, nodes: Mapping[SSAValue, Node]) -> set[SSAValue]:
    """The elementwise values that rest on memory which is overwritten before they are used."""
    place = {op: number for number, op in enumerate(block.ops)}
    kept: set[SSAValue] = set()
    for op in block.ops:
        old = _overwritten(op)
        if old is not None:
            kept |= _used_late(old, op, nodes, place)
    return kept


def _overwritten(op: Operation) -> SSAValue | None:
    """The tensor that is gone once an op has run."""
    if not isinstance(op, GenericOp):
        return None
    if TAKEN in op.attributes:
        return op.inputs[0]
    target = owner(op.outputs[-1])
    if OVERWRITES in op.attributes and isinstance(target, tensor.ExtractSliceOp):
        return target.source
    return None


def _used_late(
    old: SSAValue, write: Operation, nodes: Mapping[SSAValue, Node], place: Mapping[Operation, int]
) -> set[SSAValue]:
    """The elementwise values behind a write that read `old` and are used by it or later."""
    end, reading, late = place[write], {old}, set[SSAValue]()
    for value, node in nodes.items():
        if place[node.op] >= end or node.axis is not None:
            continue
        if any(source in reading for source in _read(node)):
            reading.add(value)
            if any(place.get(user, end) >= end for user in _users(value, place)):
                late.add(value)
    return late


def _read(node: Node) -> Iterator[SSAValue]:
    yield from map(made_of, node.op.inputs)
    for op in node.op.body.block.ops:
        if isinstance(op, tensor.ExtractOp):
            yield made_of(op.tensor)


def _users(value: SSAValue, place: Mapping[Operation, int]) -> Iterator[Operation]:
    """The ops of the block that use a value, views of it followed."""
    for use in value.uses:
        user = use.operation
        if isinstance(user, tensor.ExtractSliceOp | tensor.ExpandShapeOp | tensor.CollapseShapeOp):
            yield from _users(user.result, place)
        while user not in place and (parent := user.parent_op()) is not None:
            user = parent
        yield user


def where_needed(kernel: Kernel, buffers: Buffers, at: Builder) -> Builder:
    """Where to call a kernel: for the copy of a parameter, where that is not the result."""
    (first, *others) = kernel.stages
    if others or TAKEN not in first.node.op.attributes:
        return at
    source = buffers.pointer(first.node.op.inputs[0])
    target = buffers.pointer(first.value)
    return _where_apart(source, target, at) if _is_argument(target) else at


def _is_argument(pointer: SSAValue) -> bool:
    while isinstance(op := owner(pointer), memref.ReinterpretCastOp):
        pointer = op.source
    return isinstance(pointer, BlockArgument)


def _where_apart(left: SSAValue, right: SSAValue, at: Builder) -> Builder:
    """Inside of a branch that is taken where two pointers are not the same."""
    end = scf.YieldOp()
    at.append(scf.IfOp(_apart(left, right, at), [], [Block([end])], [Block([scf.YieldOp()])]))
    return Builder(end)


def _apart(left: SSAValue, right: SSAValue, at: Builder) -> SSAValue:
    first = at.value(memref.ExtractAlignedPointerAsIndexOp.get(left))
    return at.compare("ne", first, at.value(memref.ExtractAlignedPointerAsIndexOp.get(right)))


def fill_result(taken: GenericOp, buffers: Buffers) -> None:
    """In plain loops: the copy of a parameter goes straight into the result, unless it is that."""
    stored = _destination(taken)
    if stored is None or not _is_argument(stored.dest):
        return
    at = Builder(taken)
    pointer, source = buffers.to_pointer(stored.dest), buffers.pointer(taken.inputs[0])
    view = buffers.shaped(pointer, taken.results[0], at)
    target = at.value(bufferization.ToTensorOp(view, True, True))
    apart = _apart(source, pointer, at)
    copy, same = Block(), Block([scf.YieldOp(target)])
    choice = scf.IfOp(apart, [target.type], [copy], [same])
    at.append(choice)
    taken.results[0].replace_all_uses_with(choice.results[0])
    taken.detach()
    copy.add_ops([taken, scf.YieldOp(taken.results[0])])
    taken.operands[1] = target
    stored.operands[1] = view


def _destination(taken: GenericOp) -> bufferization.MaterializeInDestinationOp | None:
    """Where the copy of a parameter, its windows filled, is stored as a result."""
    pending: list[SSAValue] = [taken.results[0]]
    while pending:
        for use in pending.pop().uses:
            user = use.operation
            if isinstance(user, bufferization.MaterializeInDestinationOp):
                return user
            if isinstance(user, tensor.InsertSliceOp) and use.index == 1:
                pending.append(user.result)
    return None
