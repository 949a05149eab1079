"""Rewrite patterns that are only loaded for programs that have what they rewrite."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp
from xdsl.pattern_rewriter import RewritePattern

Patterns = tuple[RewritePattern, ...]


def patterns_for(module: ModuleOp, families: Mapping[str, Patterns]) -> Patterns:
    """The patterns of the operations in a module, in the table's order and each once."""
    present = {op.name for op in module.walk()}
    found = (pattern for name in families if name in present for pattern in families[name])
    return tuple(dict.fromkeys(found))
