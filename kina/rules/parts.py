"""What the type rules share: the error, the arguments that they take, and words for messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kina.dtypes import DTYPES, DType
from kina.types import Dim, Placement, TensorType, format_dims

Attribute = int | float | str | DType | tuple[Dim, ...]
"""A compile-time argument: an axis, a value of F32, the word of `op=`, a dtype, or dimensions."""

Attributes = Mapping[str, Attribute]

Blame = int | str | None
"""Which operand (by position) or attribute (by name) is wrong; None: the whole operation."""


class RuleError(Exception):
    """A broken type rule, with what is to blame and, where evident, a way to fix it."""

    def __init__(self, message: str, blame: Blame = None, help: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.blame = blame
        self.help = help


def check_host(what: str, operand: TensorType) -> None:
    """Refuse an operand on @device for an operation that has no checked device kernel."""
    if operand.placement is Placement.HOST:
        return
    raise RuleError(
        f"{what}: operand is on @device, expected @host: there is no checked device kernel",
        blame=0,
    )


def check_axis(name: str, axis: int, dims: Sequence[Dim]) -> None:
    """Refuse an axis outside `0 .. rank-1`, with the non-negative spelling where there is one."""
    rank = len(dims)
    if 0 <= axis < rank:
        return
    help_ = f"count from 0: here axis={axis + rank}" if -rank <= axis < 0 else None
    valid = f"expected 0 <= axis < {rank}" if rank else "a rank-0 tensor has no axis"
    raise RuleError(
        f"{name}: axis={axis} is out of range for shape {format_dims(dims)}, {valid}",
        blame="axis",
        help=help_,
    )


def broadcastable(source: Sequence[Dim], target: Sequence[Dim]) -> bool:
    """Whether `source`, padded with 1s on the left, broadcasts to `target`."""
    if len(source) > len(target):
        return False
    tail = target[len(target) - len(source) :]
    return all(dim in (1, wanted) for dim, wanted in zip(source, tail, strict=True))


def without_axis(dims: Sequence[Dim], axis: int) -> tuple[Dim, ...]:
    """The dimensions with the one at `axis` removed (the seeds' σ \\ axis)."""
    return (*dims[:axis], *dims[axis + 1 :])


def axis_of(attributes: Attributes) -> int:
    """The compile-time axis."""
    axis = attributes["axis"]
    assert isinstance(axis, int)
    return axis


def dims_of(attributes: Attributes) -> tuple[Dim, ...]:
    """The dimensions that an operation is given."""
    dims = attributes["dims"]
    assert isinstance(dims, tuple)
    return dims


def one_of(names: Sequence[str] | frozenset[str]) -> str:
    """The names in words: `F16, BF16 or F32`."""
    known = [name for name in DTYPES if name in names] or list(names)
    return known[0] if len(known) == 1 else f"{', '.join(known[:-1])} or {known[-1]}"
