"""Selections move before what computes their values.

`select(-x)` is `-select(x)`, and `select(x - broadcast(m))` is `select(x) - m`: what nobody else
reads is then computed for the selected elements only, and no tensor of log-probabilities is ever
made. Each element is still computed by the same operations, so the bits stay. The checks do not
move.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from kina.dialects.elementwise import CastOp, ElementwiseOp
from kina.dialects.indexing import SelectAlongAxisOp
from kina.dialects.selection import TakePlacesOp
from kina.dialects.shaping import BroadcastOp, ReshapeOp
from kina.dialects.table import build
from kina.passes.located import stamp
from kina.passes.simplification.patterns import dims_of

Selection: TypeAlias = SelectAlongAxisOp | TakePlacesOp
"""One element of each fiber, or several of them."""
Key: TypeAlias = tuple[SSAValue, SSAValue, int]
"""Values, indices and axis of a selection."""


@dataclass
class _Selections:
    """What has been selected so far in one function, each only once."""

    built: dict[Key, SSAValue] = field(default_factory=dict[Key, SSAValue])

    def move(self, op: Selection) -> None:
        """Replace `op` by operations on selected operands."""
        pending = [op.values]
        while pending:
            key = self._key(pending[-1], op)
            if key in self.built:
                pending.pop()
                continue
            operands = _operands(pending[-1])
            missing = [value for value in operands if self._key(value, op) not in self.built]
            pending.extend(missing)
            if not missing:
                selected = [self.built[self._key(value, op)] for value in operands]
                self.built[key] = _selected(pending.pop(), selected, op)
        Rewriter.replace_op(op, [], [self.built[self._key(op.values, op)]])

    def _key(self, values: SSAValue, op: Selection) -> Key:
        return (values, _indices(op), op.axis_value)


def _indices(op: Selection) -> SSAValue:
    return op.indices if isinstance(op, SelectAlongAxisOp) else op.places


def _operands(values: SSAValue) -> Sequence[SSAValue]:
    """What to select from first, if `values` are computed element by element."""
    owner = values.owner
    return owner.operands if isinstance(owner, ElementwiseOp | CastOp) else ()


def _selected(values: SSAValue, operands: Sequence[SSAValue], op: Selection) -> SSAValue:
    """The selected elements of `values`, given those of its operands."""
    owner = values.owner
    if isinstance(owner, ElementwiseOp | CastOp):
        return _insert([build(owner.rule_name, operands, owner.rule_attributes())], op, owner)
    if isinstance(owner, BroadcastOp):
        return _from_broadcast(owner, op)
    return _insert([_same(op, values)], op, op)


def _same(op: Selection, values: SSAValue) -> Selection:
    """The same selection from other values."""
    return type(op)(values, _indices(op), op.axis_value)


def _from_broadcast(owner: BroadcastOp, op: Selection) -> SSAValue:
    """A broadcast along the axis has one value to select from; else read through it."""
    source, dims = owner.operand, dims_of(owner.operand)
    axis = op.axis_value - (owner.kina_type.rank - len(dims))
    if axis >= 0 and dims[axis] != 1:
        return _insert([_same(op, source)], op, op)
    spread = dims_of(_indices(op))
    if isinstance(op, TakePlacesOp):
        return _insert([BroadcastOp(source, spread)], op, owner)
    kept = [dim for position, dim in enumerate(dims) if position != axis]
    flat = ReshapeOp(source, kept)
    return _insert([flat, BroadcastOp(flat, spread)], op, owner)


def _insert(new: Sequence[Operation], op: Selection, like: Operation) -> SSAValue:
    """Insert before `op`, with the location of `like`; the last result."""
    for item in new:
        stamp(item, like)
    Rewriter.insert_op(new, InsertPoint.before(op))
    return new[-1].results[0]


def move_selections(function: FuncOp) -> None:
    """Move every selection of `function`."""
    selections = _Selections()
    for op in list(function.body.block.ops):
        if isinstance(op, Selection):
            selections.move(op)
