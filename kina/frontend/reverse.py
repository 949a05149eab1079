"""`reverseMode`: the one place where the type checker decides about it."""

from __future__ import annotations

from kina.frontend.ast import Reverse
from kina.frontend.report import Report


def check_reverse(node: Reverse, report: Report) -> None:
    """Refuses the item: reverse mode is not implemented."""
    report.error("reverseMode is not implemented", node.extent)
