"""Scans: walks of one axis that keep a running value and write something at every element."""

from __future__ import annotations

from xdsl.dialects import linalg
from xdsl.dialects.linalg.attrs import IteratorType
from xdsl.ir.affine import AffineMap


def is_scan(op: linalg.ops.GenericOp) -> bool:
    """Whether `op` keeps one value along its one reduced loop, and writes one for each element.

    Nothing reads the running value in the end, and the body does not read what it overwrites.
    """
    if len(op.outputs) != 2 or len(op.results) != 2 or op.results[0].uses:
        return False
    kinds = [kind.data for kind in op.iterator_types]
    if kinds.count(IteratorType.REDUCTION) != 1 or op.body.block.args[-1].uses:
        return False
    held, written = (found.data for found in op.indexing_maps.data[-2:])
    identity = AffineMap.identity(len(kinds))
    return written == identity and held == _without(identity, kinds.index(IteratorType.REDUCTION))


def _without(identity: AffineMap, axis: int) -> AffineMap:
    """The map that walks all loops but one."""
    results = (expr for loop, expr in enumerate(identity.results) if loop != axis)
    return AffineMap(identity.num_dims, 0, tuple(results))
