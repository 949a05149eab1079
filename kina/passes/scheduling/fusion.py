"""Inlines elementwise producers into the bodies of the ops that read them.

What stays are *stages*: reductions, stored results, and values of a row that every element of
the row reads. A cheap value is recomputed rather than kept: memory is what is scarce.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects import arith, linalg, tensor
from xdsl.dialects.builtin import (
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IndexType,
    IntegerAttr,
    TensorType,
    i64,
)
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from kina.passes.scheduling.graph import (
    UNIT,
    Access,
    Dim,
    Node,
    Shape,
    element_of,
    owner,
    through_view,
)


@dataclass(eq=False)
class Stage:
    """One fused `linalg.generic` in the making.

    `leaves` are the tensors it reads with their accesses, one block argument each; the last
    argument of `block` is the accumulator or the unused output. `captured` are tensors that the
    body reads at computed places, `scalars` other values from outside. `indexed` says whether the
    body asks where it stands along a dimension that it does not reduce.
    """

    node: Node
    leaves: dict[tuple[SSAValue, Access], SSAValue] = field(default_factory=dict)
    captured: list[SSAValue] = field(default_factory=list)
    scalars: list[SSAValue] = field(default_factory=list)
    indexed: bool = False
    block: Block = field(default_factory=Block)

    home: SSAValue = field(init=False)
    """The tensor that the result is stored in, or in a window of."""
    written: Access = field(init=False)
    """How the loops walk it."""

    def __post_init__(self) -> None:
        target, access = self.node.op.outputs[-1], self.node.accesses[-1]
        self.home, self.written = self.value, access
        if isinstance(owner(target), tensor.ExtractSliceOp):
            self.home, self.written = through_view(target, access)

    @property
    def dims(self) -> Shape:
        """The iteration sizes."""
        return self.node.dims

    @property
    def value(self) -> SSAValue:
        """The tensor that the stage computes, as the payload names it."""
        return self.node.value

    @property
    def element(self) -> Attribute:
        """The element type of `value`."""
        return element_of(self.value)

    @property
    def accumulated(self) -> list[Attribute]:
        """The element types of the accumulators of a reduction."""
        return [element_of(output) for output in self.node.op.outputs]

    @property
    def operations(self) -> int:
        """Scalar operations per element; constants are free."""
        return sum(not self._is_free(op) for op in self.block.ops)

    def _is_free(self, op: Operation) -> bool:
        """Constants, and the place along the reduced axis: the loop that walks it counts."""
        if isinstance(op, arith.IndexCastOp):
            op = owner(op.input) or op
        if isinstance(op, linalg.ops.IndexOp):
            return op.dim.value.data == self.node.axis
        return isinstance(op, arith.ConstantOp | linalg.ops.YieldOp)


Stays: TypeAlias = Callable[[Node, Node, Access], bool]
Read: TypeAlias = tuple[SSAValue, Access]
"""A tensor and how it is walked."""


class Fuser:
    """Builds the body of one stage by walking producers; each is inlined once."""

    def __init__(
        self, node: Node, nodes: dict[SSAValue, Node], stays: Callable[[Node, Node, Access], bool]
    ) -> None:
        self.stage = Stage(node)
        self._nodes, self._stays = nodes, stays
        self._scalars: dict[Read, SSAValue] = {}
        self._inlined: dict[Read, Node | None] = {}
        self._constants: dict[Attribute, SSAValue] = {}

    def build(self) -> Stage:
        """The finished stage."""
        node = self.stage.node
        identity = Access(tuple(range(len(node.dims))))
        if node.is_selection:
            return self._build_keys()
        accumulators = node.op.body.block.args[len(node.op.inputs) :]
        slots = Block(arg_types=[accumulator.type for accumulator in accumulators]).args
        known: dict[SSAValue, SSAValue] = dict(zip(accumulators, slots, strict=True))
        results = self._inline(node, identity, known)
        self._need(self.stage.written)
        self.stage.block.add_op(linalg.ops.YieldOp(*results))
        stage = self.stage
        for slot in slots:
            new = stage.block.insert_arg(slot.type, len(stage.block.args))
            slot.replace_all_uses_with(new)
        return self.stage

    def _build_keys(self) -> Stage:
        """A selection computes keys; what it does with them is the kernel's business."""
        node = self.stage.node
        key = self._read(node.op.inputs[0], node.accesses[0])
        self.stage.block.add_op(linalg.ops.YieldOp(key))
        return self.stage

    def _read(self, value: SSAValue, access: Access) -> SSAValue:
        """The scalar read; what it rests on comes first, from a stack: chains may be long."""
        wanted = through_view(value, access)
        pending = [wanted]
        while pending:
            read = pending[-1]
            if read in self._scalars:
                pending.pop()
            elif missing := [r for r in self._rests_on(read) if r not in self._scalars]:
                pending += reversed(missing)
            else:
                self._scalars[read] = self._make(*read)
        return self._scalars[wanted]

    def _rests_on(self, read: Read) -> list[Read]:
        if read not in self._inlined:
            self._inlined[read] = self._find_inlined(*read)
        producer = self._inlined[read]
        return [] if producer is None else [r for _, r in operand_reads(producer, read[1])]

    def _find_inlined(self, value: SSAValue, access: Access) -> Node | None:
        """The node that makes `value` if its body is repeated here."""
        producer = self._nodes.get(value)
        if producer is None or splat_of(value) is not None:
            return None
        return None if self._stays(self.stage.node, producer, access) else producer

    def _make(self, value: SSAValue, access: Access) -> SSAValue:
        if (splat := splat_of(value)) is not None:
            return self._constant(splat, splat.type)
        producer = self._inlined[value, access]
        return self._inline(producer, access, {})[0] if producer else self._leaf(value, access)

    def _leaf(self, value: SSAValue, access: Access) -> SSAValue:
        block = self.stage.block
        argument = block.insert_arg(element_of(value), len(block.args))
        self.stage.leaves[value, access] = argument
        self._need(access)
        return argument

    def _need(self, access: Access) -> None:
        """The run-time distances of a walk come from outside."""
        for shift in access.shifts:
            for term in shift or ():
                if not isinstance(term, int):
                    self._scalar(term)

    def _inline(
        self, node: Node, access: Access, known: dict[SSAValue, SSAValue]
    ) -> list[SSAValue]:
        """Repeats the body of a node at `access`; what it yields."""
        body = node.op.body.block
        for argument, read in operand_reads(node, access):
            known[argument] = self._read(*read)
        for op in body.ops:
            if isinstance(op, linalg.ops.YieldOp):
                return [self._outside(operand, known) for operand in op.operands]
            self._clone(op, access, known)
        raise AssertionError("a body ends in linalg.yield")

    def _clone(self, op: Operation, access: Access, known: dict[SSAValue, SSAValue]) -> None:
        if isinstance(op, linalg.ops.IndexOp):
            self._index(op, access, known)
            return
        if isinstance(op, arith.ConstantOp):
            known[op.result] = self._constant(op.value, op.result.type)
            return
        operands = {v: self._outside(v, known) for v in op.operands}
        new = op.clone(value_mapper={**known, **operands})
        new.location = op.location
        self.stage.block.add_op(new)
        known.update(zip(op.results, new.results, strict=True))

    def _index(
        self, op: linalg.ops.IndexOp, access: Access, known: dict[SSAValue, SSAValue]
    ) -> None:
        """The index along a dimension of the stage, where the walk of a window is."""
        position = op.dim.value.data
        index = self._index_of(access[position])
        for term in access.shift(position) or ():
            index = self._add(arith.AddiOp(index, self._distance(term)))
        known[op.result] = index

    def _index_of(self, dim: int) -> SSAValue:
        if dim == UNIT:
            return self._add(arith.ConstantOp.from_int_and_width(0, IndexType()))
        self.stage.indexed |= dim != self.stage.node.axis
        index = {"dim": IntegerAttr(dim, i64)}
        return self._add(linalg.ops.IndexOp.create(properties=index, result_types=[IndexType()]))

    def _distance(self, term: Dim) -> SSAValue:
        if isinstance(term, int):
            return self._add(arith.ConstantOp.from_int_and_width(term, IndexType()))
        self._scalar(term)
        is_index = isinstance(term.type, IndexType)
        return term if is_index else self._add(arith.IndexCastOp(term, IndexType()))

    def _scalar(self, value: SSAValue) -> None:
        if value not in self.stage.scalars:
            self.stage.scalars.append(value)

    def _constant(self, value: Attribute, kind: Attribute) -> SSAValue:
        """Bodies that are repeated one after the other have many constants in common."""
        if value not in self._constants:
            new = arith.ConstantOp.create(properties={"value": value}, result_types=[kind])
            self._constants[value] = self._add(new)
        return self._constants[value]

    def _add(self, op: Operation) -> SSAValue:
        op.location = self.stage.node.op.location
        self.stage.block.add_op(op)
        return op.results[0]

    def _outside(self, value: SSAValue, known: dict[SSAValue, SSAValue]) -> SSAValue:
        """`value` inside the new body; constants from outside are repeated in it."""
        if value in known:
            return known[value]
        is_number = not isinstance(value.type, TensorType)
        if is_number and isinstance(value.owner, arith.ConstantOp):
            return self._constant(value.owner.value, value.type)
        found = self.stage.captured if isinstance(value.type, TensorType) else self.stage.scalars
        if value not in found:
            found.append(value)
        return value


def operand_reads(node: Node, access: Access) -> Iterator[tuple[BlockArgument, Read]]:
    """What the body of `node` reads at `access`, by the arguments that stand for it."""
    body = node.op.body.block
    for argument, operand, inner in zip(
        body.args[: len(node.op.inputs)], node.op.inputs, node.accesses[:-1], strict=True
    ):
        if argument.uses:
            yield argument, through_view(operand, access.inside(inner))


def splat_of(value: SSAValue) -> IntegerAttr | FloatAttr | None:
    """The one element of a constant tensor whose elements are all alike."""
    op = owner(value)
    if not isinstance(op, arith.ConstantOp) or not isinstance(op.value, DenseIntOrFPElementsAttr):
        return None
    return op.value.get_attrs()[0] if op.value.is_splat() else None
