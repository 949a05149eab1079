"""What a function requires of run-time sizes, beyond what its types say.

Any size may be 0 where the result has a meaning. The largest of no elements has none, nor has a
size below 0: such calls are refused before anything is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kina.dims import Dim, evaluate, may_be_negative, subtract, symbols_of, terms_of
from kina.dtypes import DType
from kina.frozen import frozen
from kina.rules.parts import Attributes, axis_of
from kina.rules.selection import k_of
from kina.types import TensorType, format_dims

OF_SOMETHING: Mapping[str, bool] = {
    "softmax": True,
    "log_softmax": True,
    "logsumexp": True,
    "rms_norm": True,
    "layer_norm": True,
    "take_along_axis": False,
    "iota": False,
    "slice": False,
    "concat": False,
    "update": False,
    "cumsum": False,
    "top_k": False,  # k elements are more
}
"""Whether an operation along an axis has no value where that is empty; reductions are below."""

REDUCTIONS_OF_SOMETHING: Mapping[str, bool] = {
    "sum": False,
    "max": True,
    "min": True,
    "mean": True,
    "argmax": True,
    "argmin": True,
    "prod": False,
    "any": False,
    "all": False,
}
"""The same of what `op=` takes."""


@frozen(slots=True)
class Requirement:
    """A size that a call needs."""

    dim: str
    least: int
    text: str
    """What is wrong where the size is less."""

    def broken(self, sizes: Mapping[str, int]) -> str | None:
        """What to say of these sizes of the symbols; None if they will do."""
        size = evaluate(self.dim, sizes)
        if size >= self.least:
            return None
        bound = ", ".join(f"{symbol} = {sizes[symbol]}" for symbol in symbols_of(self.dim))
        return f"{self.text} ({bound})"


def of_operation(
    name: str, attributes: Attributes, operands: Sequence[TensorType]
) -> Iterable[Requirement]:
    """What an operation needs: the axis that it runs along is not empty."""
    if name == "top_k":
        yield from _of_selection(name, attributes, operands[0])
    axis, kind = attributes.get("axis"), attributes.get("op")
    is_reduction = isinstance(kind, str)
    needs = REDUCTIONS_OF_SOMETHING[kind] if is_reduction else OF_SOMETHING.get(name, False)
    if not needs or not isinstance(axis, int):
        return
    dims = operands[0].dims
    dim = dims[axis]
    if isinstance(dim, str) and not _is_at_least(dim, 1):
        shown = f"{name} {kind}" if is_reduction else name
        yield Requirement(dim, 1, f"{shown}: axis {axis} of {format_dims(dims)} is empty")


def _of_selection(name: str, attributes: Attributes, operand: TensorType) -> Iterable[Requirement]:
    """k elements at least."""
    k, axis = k_of(attributes), axis_of(attributes)
    dim = operand.dims[axis]
    if isinstance(dim, str) and not _is_at_least(dim, k):
        shown = format_dims(operand.dims)
        yield Requirement(dim, k, f"{name}: k={k} is more than axis {axis} of {shown} has")


def of_layers(layers: Dim) -> Iterable[Requirement]:
    """What a fold needs: a layer."""
    if isinstance(layers, str) and not _is_at_least(layers, 1):
        yield Requirement(layers, 1, f"fold: the layer axis {layers} is empty")


def of_types(types: Iterable[TensorType]) -> Iterable[Requirement]:
    """What types need: no dimension is below 0."""
    for dim in dict.fromkeys(dim for type_ in types for dim in type_.dims):
        if isinstance(dim, str) and may_be_negative(dim):
            yield Requirement(dim, 0, f"the size {dim} is below 0")


def of_number(
    size: str, dtype: DType, least: int | None, greatest: int | None
) -> Iterable[Requirement]:
    """What a size needs to be a number of a dtype whose integers are in this range."""
    if greatest is not None:
        room = subtract(greatest, size)
        text = f"the number {size} is too large for {dtype}, at most {greatest}"
        yield from in_caller(Requirement(size, 0, text), room)
    if least is not None and may_be_negative(size):
        text = f"the number {size} is too small for {dtype}, at least {least}"
        yield from in_caller(Requirement(size, 0, text), subtract(size, least))


def in_caller(requirement: Requirement, dim: Dim) -> Iterable[Requirement]:
    """A callee's requirement, where its size is `dim`; nothing if that is known to do."""
    if isinstance(dim, str) and not _is_at_least(dim, requirement.least):
        yield Requirement(dim, requirement.least, requirement.text)


def _is_at_least(dim: str, least: int) -> bool:
    """Whether a dimension is `least` or more whatever its symbols are."""
    return terms_of(dim).get((), 0) >= least and not may_be_negative(dim)
