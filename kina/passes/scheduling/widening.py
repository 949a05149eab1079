"""Values that are a narrower one in other words: what is stored is the narrow one.

A sum of products reads each element of a factor many times, and what it widens them to (I8 to I32,
BF16 to F32) it makes again where they are read or packed. So memory holds the fewer bytes, and
instructions that take narrow elements find them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from xdsl.dialects import arith, linalg
from xdsl.dialects.builtin import FixedBitwidthType
from xdsl.ir import BlockArgument, Operation, SSAValue

from kina.passes.scheduling.graph import UNIT, Access, Node, element_of, made_of

_FREE = arith.ConstantOp, linalg.ops.YieldOp


def narrower(node: Node, cheap: int) -> SSAValue | None:
    """What a value is a cheap function of, element by element, if that takes fewer bytes."""
    body = node.op.body.block
    if node.axis is not None or len(node.op.inputs) != 1:
        return None
    operations = [op for op in body.ops if not isinstance(op, _FREE)]
    if not 0 < len(operations) <= cheap or not all(map(_is_own, operations)):
        return None
    source = node.op.inputs[0]
    return source if _bits(source) < _bits(node.value) else None


def narrowest(value: SSAValue, nodes: Mapping[SSAValue, Node], cheap: int) -> SSAValue:
    """What to store for a value of these nodes: itself, or what it was before it was widened."""
    while (source := narrower(nodes[value], cheap)) is not None and made_of(source) in nodes:
        value = made_of(source)
    return value


def is_factor(reader: Node, access: Access) -> bool:
    """Whether a sum reads elements along its axis, each of them several times."""
    walked = {dim for dim in access if dim != UNIT}
    return reader.axis in walked and any(
        size != 1 for dim, size in enumerate(reader.dims) if dim not in walked
    )


def _is_own(op: Operation) -> bool:
    """Whether an operation depends on nothing but the element that is read, and constants."""
    return bool(op.operands) and all(
        isinstance(value, BlockArgument) or _is_local(op, value) for value in op.operands
    )


def _is_local(op: Operation, value: SSAValue) -> bool:
    made = cast(Operation, value.owner)
    return made.parent is op.parent or isinstance(made, arith.ConstantOp)


def _bits(value: SSAValue) -> int:
    element = element_of(value)
    assert isinstance(element, FixedBitwidthType)
    return element.bitwidth
