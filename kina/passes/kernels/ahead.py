"""What few rows fetch ahead of the right factor, which comes from memory and is read once."""

from __future__ import annotations

from kina.frozen import frozen
from kina.passes.kernels.factors import Factors, moved
from kina.passes.kernels.function import Places
from kina.passes.kernels.hints import SECOND
from kina.passes.kernels.ops import Ops


@frozen
class Ahead:
    """Asks for rows that columns walk."""

    factors: Factors

    @property
    def _row(self) -> int | None:
        """Bytes of a row, if they are known."""
        columns = self.factors.static(self.factors.columns)
        return None if columns is None else max(columns, 1) * self.factors.least_bytes

    @property
    def is_short(self) -> bool:
        """Whether rows come from memory and are so short that several together are no stream."""
        row, machine = self._row, self.factors.function.machine
        depth = self.factors.static(self.factors.axis)
        if row is None or row > machine.short_row:
            return False
        return depth is None or row * depth > machine.near

    def fetch(self, ops: Ops, places: Places, together: int, lanes: int, width: int) -> None:
        """What is read some time after a vector there, where so many k are read together.

        The same columns of the next rows, or where a chunk of `width` columns is a part of each
        row, and where rows are read one by one, what follows in the row.
        """
        factors, machine, row = self.factors, self.factors.function.machine, self._row
        axis, distance, apart = factors.columns, machine.far // factors.least_bytes, machine.fetched
        if row is not None and row <= width * factors.least_bytes and together > 1:
            axis, distance = factors.axis, together
        if self.is_short and together > 1:
            distance, apart = -(-machine.rows_ahead // (row or 1) // together) * together, 0
        later = moved(ops, places, axis, distance)
        factors.fetch(ops, factors.roles.right, later, SECOND, lanes, apart)
