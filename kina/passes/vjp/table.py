"""Which rule differentiates which operation, by its name."""

from __future__ import annotations

from kina.passes.vjp import (
    activations,
    contraction,
    elementwise,
    fibers,
    indexing,
    layout,
    normalize,
    reduce,
    scan,
    selection,
    shaping,
)
from kina.passes.vjp.builder import Rule

RULES: dict[str, Rule] = {
    f"kina.{name}": rule
    for name, rule in {
        **elementwise.ELEMENTWISE,
        **activations.ACTIVATIONS,
        "cast": elementwise.cast,
        "broadcast": shaping.broadcast,
        "reshape": shaping.reshape,
        "reduce": reduce.reduction,
        "reduce_keep": reduce.reduction,
        "softmax": normalize.softmax,
        "log_softmax": normalize.log_softmax,
        "logsumexp": fibers.logsumexp,
        "rms_norm": fibers.rms_norm,
        "layer_norm": fibers.layer_norm,
        "take_along_axis": indexing.take_along_axis,
        "select_along_axis": indexing.take_along_axis,
        "gather": indexing.gather,
        "scatter_along_axis": indexing.scatter_along_axis,
        "scatter_add": indexing.scatter_add,
        "matmul": contraction.matmul,
        "contract": contraction.contract,
        "transpose": layout.transpose,
        "slice": layout.slice_,
        "window": layout.slice_,
        "concat": layout.concat,
        "update": layout.update,
        "overwrite": layout.update,
        "cumsum": scan.cumsum,
        "reverse": scan.reverse,
        "recurrence": scan.recurrence,
        "take_places": selection.take_places,
        "put_places": selection.put_places,
    }.items()
}
"""Every operation whose result may be floating; comparisons and constants carry no gradient."""
