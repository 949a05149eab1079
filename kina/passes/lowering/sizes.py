"""The run-time sizes of one function: taken or computed once each, on entry."""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue

from kina.passes.builder import Builder
from kina.passes.derived_sizes import derive


class Sizes:
    """The run-time size of each symbol, and of what is computed from symbols.

    Symbols are taken first. What is computed goes right after them, whenever it is first needed.
    """

    def __init__(self) -> None:
        self._known: dict[str, SSAValue] = {}
        self._last: Operation | None = None

    def __contains__(self, dim: str) -> bool:
        return dim in self._known

    def __getitem__(self, dim: str) -> SSAValue:
        """The size `dim`, as an index."""
        if dim not in self._known:
            assert self._last is not None, "a computed size has symbols"
            where = self._last.next_op or self._last.parent_block()
            assert where is not None
            self._known[dim] = derive(dim, self._known, Builder(where, self._last.location))
        return self._known[dim]

    def take(self, symbol: str, op: Operation) -> None:
        """`op`, put on entry, has the size of `symbol`."""
        self._known[symbol] = op.results[0]
        self._last = op
