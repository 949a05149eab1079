"""Rewriting that keeps source locations: xDSL gives new operations `loc(unknown)`.

Every pass of Kina rewrites through `rewrite`, so that an error anywhere later in the pipeline,
mlir-opt's included, still names the line of the `.kina` file.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, UnknownLoc
from xdsl.ir import Operation
from xdsl.pattern_rewriter import (
    GreedyRewritePatternApplier,
    PatternRewriter,
    PatternRewriteWalker,
    RewritePattern,
)


def stamp(operation: Operation, like: Operation) -> None:
    """Give `like`'s location to `operation` and all within it that have none."""
    for op in operation.walk():
        if isinstance(op.location, UnknownLoc):
            op.location = like.location


class Located(RewritePattern):
    """A pattern whose new operations take the location of the operation that they replace."""

    def __init__(self, pattern: RewritePattern) -> None:
        self.pattern = pattern

    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Run the wrapped pattern and stamp what it inserts."""
        handler = rewriter.operation_insertion_handler
        handler.append(stamper := lambda new: stamp(new, op))
        try:
            self.pattern.match_and_rewrite(op, rewriter)
        finally:
            handler.remove(stamper)


def rewrite(module: ModuleOp, patterns: Sequence[RewritePattern], *, recurse: bool = True) -> bool:
    """Apply `patterns` over the whole module, keeping locations; says whether anything changed.

    `recurse` revisits what the patterns produce.
    """
    applier = GreedyRewritePatternApplier([Located(pattern) for pattern in patterns])
    walker = PatternRewriteWalker(applier, apply_recursively=recurse)
    return walker.rewrite_module(module)
