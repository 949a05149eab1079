"""Types of the language: tensors and tuples of tensors.

A leaf shared by the front end, the type rules, the reference and the runtime.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from kina.dims import Dim, is_symbol, symbols_of
from kina.dtypes import DType


class Placement(Enum):
    """Where a tensor lives."""

    HOST = "host"
    DEVICE = "device"


def format_dims(dims: Sequence[Dim]) -> str:
    """`[1, 4, V]`, as a user writes it."""
    return f"[{', '.join(map(str, dims))}]"


@dataclass(frozen=True, slots=True)
class TensorType:
    """`tensor<dtype, [dims], @placement>`."""

    dtype: DType
    dims: tuple[Dim, ...]
    placement: Placement = Placement.HOST

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self.dims)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols of the dimensions, each once, in order of appearance."""
        return tuple(dict.fromkeys(symbol for dim in self.dims for symbol in symbols_of(dim)))

    @property
    def binds(self) -> tuple[str, ...]:
        """The symbols that are dimensions by themselves: what a parameter of this type binds."""
        return tuple(dict.fromkeys(str(dim) for dim in self.dims if is_symbol(dim)))

    def with_dims(self, dims: Sequence[Dim]) -> TensorType:
        """The same dtype and placement with other dimensions."""
        return TensorType(self.dtype, tuple(dims), self.placement)

    def with_dtype(self, dtype: DType) -> TensorType:
        """The same dimensions and placement with another dtype."""
        return TensorType(dtype, self.dims, self.placement)

    def __str__(self) -> str:
        place = "" if self.placement is Placement.HOST else f", @{self.placement.value}"
        return f"tensor<{self.dtype}, {format_dims(self.dims)}{place}>"


@dataclass(frozen=True, slots=True)
class TupleType:
    """Several values returned or bound together."""

    items: tuple[Type, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.items))})"


Type = TensorType | TupleType


def flatten(type_: Type) -> tuple[TensorType, ...]:
    """The tensors of a type, in order: IR functions return them one by one."""
    if isinstance(type_, TensorType):
        return (type_,)
    return tuple(tensor for item in type_.items for tensor in flatten(item))


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a function."""

    name: str
    type: TensorType


@dataclass(frozen=True, slots=True)
class SizeParameter:
    """A parameter `name: size`: it binds a symbol and is no tensor."""

    name: str
    position: int
    """Among all parameters."""


T = TypeVar("T")


def is_private(name: str) -> bool:
    """Whether a function of this name is for its own program only: not exported, not in Python."""
    return name.startswith("_")


@dataclass(frozen=True, slots=True)
class Signature:
    """The type of a top-level function."""

    name: str
    parameters: tuple[Parameter, ...]
    """The tensors."""
    result: Type
    sizes: tuple[SizeParameter, ...] = ()
    """The parameters that are sizes, which stand between the tensors."""
    aliases: tuple[tuple[int, int], ...] = ()
    """Of a compiled function: the parameters and results that may be one memory, in pairs."""

    @property
    def results(self) -> tuple[TensorType, ...]:
        """The result tensors, a tuple flattened."""
        return flatten(self.result)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols: those that `size` parameters bind, then others as the tensors name them."""
        names = (name for parameter in self.parameters for name in parameter.type.symbols)
        return tuple(dict.fromkeys([*(size.name for size in self.sizes), *names]))

    def in_order(self, tensors: Iterable[T], sizes: Iterable[T]) -> list[T]:
        """One thing for each tensor and each size, in the order in which a call passes them."""
        ordered = list(tensors)
        for size, item in zip(self.sizes, sizes, strict=True):
            ordered.insert(size.position, item)
        return ordered

    @property
    def names(self) -> list[str]:
        """The names of all parameters, in order."""
        tensors = (parameter.name for parameter in self.parameters)
        return self.in_order(tensors, (size.name for size in self.sizes))

    def __str__(self) -> str:
        tensors = (f"{p.name}: {p.type}" for p in self.parameters)
        shown = self.in_order(tensors, (f"{size.name}: size" for size in self.sizes))
        return f"{self.name}({', '.join(shown)}) -> {self.result}{self._shared()}"

    def _shared(self) -> str:
        names = self.output_names
        pairs = [f"{names[r]} may be {self.parameters[p].name}" for p, r in self.aliases]
        return f", {', '.join(pairs)}" if pairs else ""

    @property
    def output_names(self) -> list[str]:
        """What the memory of each result is called."""
        count = len(self.results)
        return ["out"] if count == 1 else [f"out{position}" for position in range(count)]
