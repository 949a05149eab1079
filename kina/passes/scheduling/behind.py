"""What stands behind a value, and whether its producer is inlined: each op is looked at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet

from xdsl.dialects import linalg, tensor
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir import Operation, SSAValue

from kina.machine import Machine
from kina.passes.scheduling.graph import UNIT, Access, Node, node_of, owner
from kina.passes.scheduling.widening import is_factor, narrower

Parents = Callable[[Operation], list[Operation]]


class Behind:
    """Answers for one block with these nodes, some of them stored; others are looked up."""

    def __init__(
        self, nodes: Mapping[SSAValue, Node], stored: AbstractSet[SSAValue], machine: Machine
    ) -> None:
        self._stored, self._cheap = stored, machine.cheap
        self._nodes: dict[Operation, Node | None] = {node.op: node for node in nodes.values()}
        self._row_values: dict[Operation, bool] = {}
        self._reduced: dict[Operation, bool] = {}

    def stays(self, reader: Node, producer: Node, access: Access) -> bool:
        """Whether `producer` is a stage of its own rather than inlined where `reader` reads it.

        Reductions and stored values are. So is what fewer iterations compute than read, if it
        rests on a reduction or is costly; and so are computed reads that a reduction would repeat.
        Of a factor that was widened, what it was before is one.
        """
        if producer.axis is not None or producer.value in self._stored:
            return True
        if is_factor(reader, access) and narrower(producer, self._cheap) is not None:
            return False
        if producer.extracts and reader.axis is not None:
            return True
        if shared(producer) and costly(producer, self._cheap) and self.is_row_value(producer):
            return True
        walked = {d for d in access if d != UNIT}
        repeated = any(size != 1 for d, size in enumerate(reader.dims) if d not in walked)
        return repeated and (costly(producer, self._cheap) or self.rests_on_reduction(producer))

    def is_row_value(self, node: Node) -> bool:
        """Whether a value is computed once per row from a reduction of the row."""
        return _any_behind(node.op, self._row_values, self._is_node_with_axis, self._read_whole)

    def rests_on_reduction(self, node: Node) -> bool:
        """Whether a reduction stands anywhere behind a value."""
        return _any_behind(node.op, self._reduced, _reduces, _sources)

    def _node(self, op: Operation) -> Node | None:
        if op not in self._nodes:
            self._nodes[op] = node_of(op)
        return self._nodes[op]

    def _is_node_with_axis(self, op: Operation) -> bool:
        node = self._node(op)
        if node is None or node.is_scan or node.is_selection:
            return False
        return node.axis is not None

    def _read_whole(self, op: Operation) -> list[Operation]:
        """The nodes of which each iteration reads an element of its own."""
        if (node := self._node(op)) is None:
            return []
        reads = zip(node.op.inputs, node.accesses, strict=False)
        whole = [owner(v) for v, access in reads if len(set(access) - {UNIT}) == len(node.dims)]
        return [op for op in whole if op is not None and self._node(op) is not None]


def shared(node: Node) -> bool:
    """Whether more than one op reads a value."""
    return len({use.operation for use in node.value.uses}) > 1


def costly(node: Node, cheap: int) -> bool:
    """Whether a value takes more than a few scalar ops."""
    return len(node.op.body.block.ops) > cheap + 1


def _reduces(op: Operation) -> bool:
    return isinstance(op, linalg.ops.GenericOp) and any(
        kind.data is IteratorType.REDUCTION for kind in op.iterator_types
    )


def _sources(op: Operation) -> list[Operation]:
    match op:
        case linalg.ops.GenericOp(inputs=inputs):
            values = list(inputs)
        case tensor.ExpandShapeOp(src=source) | tensor.CollapseShapeOp(src=source):
            values = [source]
        case tensor.ExtractSliceOp(source=source):
            values = [source]
        case _:
            return []
    return [made for value in values if (made := owner(value)) is not None]


def _any_behind(
    op: Operation,
    known: dict[Operation, bool],
    holds: Callable[[Operation], bool],
    parents: Parents,
) -> bool:
    """Whether `holds` for `op` or for anything behind it; without recursion: chains may be long."""
    pending = [op]
    while pending:
        last = pending[-1]
        behind = [] if last in known or holds(last) else parents(last)
        if missing := [each for each in behind if each not in known]:
            pending += missing
            continue
        if last not in known:
            known[last] = holds(last) or any(known[each] for each in behind)
        pending.pop()
    return known[op]
