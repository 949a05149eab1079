"""Type expressions: dtypes, placements and their limits."""

from __future__ import annotations

from collections.abc import Iterable
from math import prod

from kina.dtypes import DTYPES, RESERVED, DType
from kina.frontend.ast import Identifier, TypeExpr
from kina.frontend.check_dims import resolve_dims
from kina.frontend.report import Report
from kina.types import Placement, TensorType

MAX_BYTES = 2**60 - 1
"""Of one tensor: upstream counts its bits in 64-bit integers."""

_ALIASES: dict[str, str] = {
    alias: dtype.name
    for dtype in DTYPES.values()
    for alias in (dtype.numpy.rpartition(".")[2], dtype.mlir)
}
_PLACEMENTS = {placement.value: placement for placement in Placement}


def resolve_dtype(name: Identifier, report: Report) -> DType | None:
    """The dtype called `name`; None after reporting that there is none."""
    dtype = DTYPES.get(name.name)
    if dtype is not None:
        return dtype
    if name.name in RESERVED:
        report.error(RESERVED[name.name], name.extent, help="use F32")
        return None
    alias = _ALIASES.get(name.name.lower())
    help_ = f"did you mean `{alias}`?" if alias else report.suggest(name.name, DTYPES)
    known = ", ".join(DTYPES)
    report.error(f"unknown dtype `{name.name}`, expected one of {known}", name.extent, help=help_)
    return None


def resolve_type(
    type_: TypeExpr, symbols: Iterable[str] | None, report: Report
) -> TensorType | None:
    """The type that `type_` spells; None after reporting what is wrong with it.

    `symbols` are the dimension names that may occur; None: any.
    """
    dtype = resolve_dtype(type_.dtype, report)
    dims = resolve_dims(type_.dims, symbols, report)
    placement = _resolve_placement(type_.placement, report)
    if dtype is None or dims is None or placement is None:
        return None
    resolved = TensorType(dtype, dims, placement)
    if too_large(resolved):
        report.error(f"{resolved} takes more than 2^60 - 1 bytes", type_.dims.extent)
        return None
    return resolved


def too_large(type_: TensorType) -> bool:
    """Whether the integer dimensions alone make a tensor that no address space holds."""
    elements = prod(dim for dim in type_.dims if isinstance(dim, int))
    return elements * type_.dtype.storage_bits > 8 * MAX_BYTES


def _resolve_placement(name: Identifier | None, report: Report) -> Placement | None:
    if name is None:
        return Placement.HOST
    placement = _PLACEMENTS.get(name.name)
    if placement is None:
        message = f"unknown placement `@{name.name}`, expected `@host` or `@device`"
        report.error(message, name.extent, help=report.suggest(name.name, _PLACEMENTS))
    return placement
