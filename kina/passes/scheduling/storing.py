"""Which values are read from memory because computing them again costs more.

A value that several stages read is repeated in each of them, with all that stands behind it up to
the next reduction. In a chain of layers or rounds that multiplies, and all of it is one kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from xdsl.dialects import arith, linalg
from xdsl.ir import SSAValue

from kina.machine import Machine
from kina.passes.scheduling.graph import Node, made_of
from kina.passes.scheduling.widening import narrowest

_FREE = arith.ConstantOp, linalg.ops.YieldOp


def stored(
    nodes: Mapping[SSAValue, Node], wanted: AbstractSet[SSAValue], machine: Machine
) -> set[SSAValue]:
    """The elementwise values that several stages would repeat, though it takes too much.

    `nodes` are in program order; `wanted` are stages of their own anyway.
    """
    readers, stages = _readers(nodes), _stages(nodes, wanted)
    behind = _Behind(nodes, machine)
    for value, node in nodes.items():
        behind.add(node)
        is_shared = len(readers[value]) + (value in wanted) > 1 and len(stages[value]) > 1
        if node.axis is None and (behind.is_too_much(node) if is_shared else behind.is_long(node)):
            behind.store(value, narrow=value not in wanted)
    return behind.stored


def _sources(node: Node) -> Iterator[SSAValue]:
    yield from map(made_of, node.op.inputs)


def _readers(nodes: Mapping[SSAValue, Node]) -> dict[SSAValue, set[SSAValue]]:
    readers: dict[SSAValue, set[SSAValue]] = {value: set() for value in nodes}
    for value, node in nodes.items():
        for source in _sources(node):
            if source in readers:
                readers[source].add(value)
    return readers


def _stages(
    nodes: Mapping[SSAValue, Node], wanted: AbstractSet[SSAValue]
) -> dict[SSAValue, set[SSAValue]]:
    """The stages that would repeat each value; two where there are more."""
    stages: dict[SSAValue, set[SSAValue]] = {v: {v} & wanted for v in nodes}
    for value, node in reversed(list(nodes.items())):
        mine = stages[value] if node.axis is None else {value}
        for source in _sources(node):
            if source in stages and len(stages[source]) < 2:
                stages[source] |= set(list(mine)[:2])
    return stages


@dataclass
class _Behind:
    """What stands behind each value, up to what is stored."""

    nodes: Mapping[SSAValue, Node]
    machine: Machine
    stored: set[SSAValue] = field(default_factory=set[SSAValue])
    _depths: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])
    _costs: dict[SSAValue, int] = field(default_factory=dict[SSAValue, int])

    def add(self, node: Node) -> None:
        """The next node in program order."""
        depth = max((self._depths.get(source, 0) for source in _sources(node)), default=0)
        self._depths[node.value] = depth + (node.axis is not None)
        operations = node.op.body.block.ops
        self._costs[node.value] = sum(not isinstance(op, _FREE) for op in operations)

    def store(self, value: SSAValue, *, narrow: bool) -> None:
        """What reads `value` from here on starts anew; `narrow`: from before it was widened."""
        kept = narrowest(value, self.nodes, self.machine.cheap) if narrow else value
        self.stored.add(kept)
        self._depths[kept] = self._depths[value] = 0

    def is_too_much(self, node: Node) -> bool:
        """Whether a value takes more than memory does."""
        if self._depths[node.value] >= self.machine.links:
            return True
        return self._costs_more(node, self.machine.costly)

    def is_long(self, node: Node) -> bool:
        """Whether the code for a value is more than compilers do well with in one loop."""
        return self._costs_more(node, self.machine.long_body)

    def _costs_more(self, node: Node, most: int) -> bool:
        """Whether more scalar ops stand behind a value; the walk ends where that is known."""
        seen, pending, cost = {node.value}, [node], 0
        while pending and cost <= most:
            node = pending.pop()
            cost += max(1, self._costs[node.value])
            for source in _sources(node):
                if source not in seen and self._is_repeated(source):
                    seen.add(source)
                    pending.append(self.nodes[source])
        return cost > most

    def _is_repeated(self, value: SSAValue) -> bool:
        node = self.nodes.get(value)
        return node is not None and node.axis is None and value not in self.stored
