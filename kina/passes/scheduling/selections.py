"""Selections: walks of one axis that keep a list of its best elements (top_k)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xdsl.dialects import linalg
from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from kina.passes.lowering.selection import SELECTS

if TYPE_CHECKING:
    from kina.passes.scheduling.fusion import Stage


def is_selection(op: linalg.ops.GenericOp) -> bool:
    """Whether `op` is a selection: lower-kina marks what it makes."""
    return SELECTS in op.attributes


def lists_to_store(stages: Sequence[Stage]) -> SSAValue | None:
    """The keys of a selection, which lie in memory beside their places."""
    found = [stage.node.op.results[-2] for stage in stages if stage.node.is_selection]
    return found[0] if found else None


def selected(stage: Stage) -> int:
    """How many elements of each fiber a selection takes."""
    where, kind = stage.node.list_dim, stage.value.type
    assert where is not None
    assert isinstance(kind, TensorType)
    return kind.get_shape()[where]
