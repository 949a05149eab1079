"""Which function lowers which operation: primitive operations only (see `decompose-kina`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kina.lazy import LazyTable
from kina.ops import OPS
from kina.passes.lowering.context import Lowering

LowerOp = Callable[[Lowering, Any], None]

_KINA: dict[str, str] = {
    **{
        op.name: "elementwise.lower_elementwise"
        for op in OPS.values()
        if op.is_elementwise and not op.composite
    },
    "select": "elementwise.lower_select",
    "stop_gradient": "elementwise.lower_stop_gradient",
    "cast": "casts.lower_cast",
    "constant": "constants.lower_constant",
    "broadcast": "shaping.lower_broadcast",
    "reshape": "shaping.lower_reshape",
    "reduce": "reductions.lower_reduction",
    "reduce_keep": "reductions.lower_reduction",
    "take_along_axis": "indexing.lower_take_along_axis",
    "check_indices": "indexing.lower_check_indices",
    "select_along_axis": "indexing.lower_select_along_axis",
    "gather": "indexing.lower_gather",
    "scatter_along_axis": "gradients.lower_scatter_along_axis",
    "scatter_add": "gradients.lower_scatter_add",
    "contract": "contraction.lower_contract",
    "random_uniform": "random.lower_random_uniform",
    "iota": "layout.lower_iota",
    "transpose": "layout.lower_transpose",
    "slice": "layout.lower_slice",
    "window": "layout.lower_window",
    "concat": "layout.lower_concat",
    "update": "layout.lower_update",
    "overwrite": "layout.lower_overwrite",
    "size": "layout.lower_size",
    "check_window": "layout.lower_check_window",
    "cumsum": "scan.lower_cumsum",
    "reverse": "scan.lower_reverse",
    "recurrence": "scan.lower_recurrence",
    "top_k": "selection.lower_top_k",
    "take_places": "selection.lower_take_places",
    "put_places": "selection.lower_put_places",
    "call": "calls.lower_call",
    "fold": "folds.lower_fold",
}

LOWERINGS: LazyTable[LowerOp] = LazyTable(
    "kina.passes.lowering",
    {f"kina.{name}": place for name, place in _KINA.items()} | {"func.call": "calls.lower_call"},
)
"""By the name of the operation."""
