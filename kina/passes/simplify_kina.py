"""`simplify-kina`: less work on kina IR, with the same bits and every check.

Language rule: each operation rounds to its dtype, so moving an elementwise operation before a
broadcast or after a selection changes nothing, and algebra such as `(x - m) - l` to `x - (m + l)`
does. A check of indices is an operation of its own from here on: it stays in program order,
whether its selection moves, is used or not.
"""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.passes import ModulePass
from xdsl.transforms.dead_code_elimination import region_dce

from kina.lazy import LazyTable
from kina.passes.families import Patterns, patterns_for
from kina.passes.located import rewrite
from kina.passes.simplification.duplicates import merge_duplicates
from kina.passes.simplification.patterns import PATTERNS
from kina.passes.simplification.selection import move_selections

FAMILIES: LazyTable[Patterns] = LazyTable(
    "kina.passes.simplification",
    {
        "kina.scatter_along_axis": "scatter.PATTERNS",
        "kina.concat": "joined.PATTERNS",
        "kina.update": "joined.PATTERNS",
        "kina.overwrite": "joined.PATTERNS",
        "kina.transpose": "turned.PATTERNS",
    },
)
"""What concerns an operation that few programs have, beside `PATTERNS`."""


class SimplifyKina(ModulePass):
    """Runs before and after decompose-kina (seed 9: NLL makes no tensor of log-probabilities).

    Leaves no `kina.take_along_axis`: it becomes `kina.check_indices` and
    `kina.select_along_axis`.
    """

    name = "simplify-kina"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites the module in place."""
        functions = [item for item in op.body.block.ops if isinstance(item, FuncOp)]
        bodies = [function for function in functions if not function.is_declaration]
        rewrite(op, PATTERNS + patterns_for(op, FAMILIES))
        for function in bodies:
            move_selections(function)
        rewrite(op, PATTERNS + patterns_for(op, FAMILIES))
        for function in bodies:
            merge_duplicates(function)
            region_dce(function.body)
