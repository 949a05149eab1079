"""Types of the language: tensors, records and tuples of them.

A leaf shared by the front end, the type rules, the reference and the runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from enum import Enum
from typing import TypeVar

from kina.dims import Dim, is_symbol, symbols_of
from kina.dtypes import DType
from kina.frozen import frozen


class Placement(Enum):
    """Where a tensor lives."""

    HOST = "host"
    DEVICE = "device"


def format_dims(dims: Sequence[Dim]) -> str:
    """`[1, 4, V]`, as a user writes it."""
    return f"[{', '.join(map(str, dims))}]"


@frozen(slots=True)
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


@frozen(slots=True)
class Parameter:
    """One tensor that a function takes, or a field of a record; a nested one is `p.wq`."""

    name: str
    type: TensorType


@frozen(slots=True)
class RecordParameter:
    """A record that a function takes, or one within a record."""

    name: str
    type: RecordType


Declared = Parameter | RecordParameter
"""A parameter or a field, as a program writes it."""


@frozen(slots=True)
class RecordType:
    """`type Name = { field: type, … }`: several values under names.

    A record's tensors stand one by one in IR and in C, in the order of its fields.
    """

    name: str
    fields: tuple[Declared, ...]
    written: tuple[Declared, ...] = field(default=(), compare=False, repr=False)
    """The fields of the definition, where sizes have taken the place of its symbols."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the fields."""
        return tuple(field.name for field in self.fields)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbolic dimensions, each once, in order of appearance."""
        names = (symbol for tensor in flatten(self) for symbol in tensor.symbols)
        return tuple(dict.fromkeys(names))

    @property
    def defined(self) -> RecordType:
        """The record with the symbols of its definition."""
        return RecordType(self.name, self.written or self.fields)

    def definition(self) -> str:
        """The definition, as a user writes it."""
        shown = ", ".join(f"{field.name}: {field.type}" for field in self.defined.fields)
        return f"type {self.name} = {{ {shown} }}"

    def __str__(self) -> str:
        pairs = zip(flatten(self.defined), flatten(self), strict=True)
        if any(was.rank != now.rank for was, now in pairs):
            return f"{self.name} with a layer axis"
        given = [f"{symbol}={dim}" for symbol, dim in self._sizes().items() if symbol != dim]
        return f"{self.name}<{', '.join(given)}>" if given else self.name

    def _sizes(self) -> dict[str, Dim]:
        """What stands for each symbol of the definition that is a dimension by itself."""
        found: dict[str, Dim] = {}
        for was, now in zip(flatten(self.defined), flatten(self), strict=True):
            pairs = zip(was.dims, now.dims, strict=True)
            found |= {s: dim for s, dim in pairs if isinstance(s, str) and is_symbol(s)}
        return found


@frozen(slots=True)
class TupleType:
    """Several values returned or bound together."""

    items: tuple[Type, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.items))})"


Type = TensorType | RecordType | TupleType


def flatten(type_: Type) -> tuple[TensorType, ...]:
    """The tensors of a type, in order: IR functions return them one by one."""
    match type_:
        case TensorType():
            return (type_,)
        case RecordType():
            return tuple(tensor for field in type_.fields for tensor in flatten(field.type))
        case TupleType():
            return tuple(tensor for item in type_.items for tensor in flatten(item))


def declare(name: str, type_: TensorType | RecordType) -> Declared:
    """A parameter or a field of this type."""
    if isinstance(type_, RecordType):
        return RecordParameter(name, type_)
    return Parameter(name, type_)


def leaves(declared: Declared) -> tuple[Parameter, ...]:
    """The tensors of a parameter, under their full names: `p.attention.wq`."""
    if isinstance(declared, Parameter):
        return (declared,)
    found = (leaf for field in declared.type.fields for leaf in leaves(field))
    return tuple(Parameter(f"{declared.name}.{leaf.name}", leaf.type) for leaf in found)


def map_record(record: RecordType, change: Callable[[TensorType], TensorType]) -> RecordType:
    """The record with each of its tensor types changed."""
    return RecordType(
        record.name,
        tuple(
            Parameter(field.name, change(field.type))
            if isinstance(field, Parameter)
            else RecordParameter(field.name, map_record(field.type, change))
            for field in record.fields
        ),
        record.defined.fields,
    )


def map_tensors(type_: Type, change: Callable[[TensorType], TensorType]) -> Type:
    """The type with each of its tensor types changed."""
    match type_:
        case TensorType():
            return change(type_)
        case RecordType():
            return map_record(type_, change)
        case TupleType():
            return TupleType(tuple(map_tensors(item, change) for item in type_.items))


def records_in(type_: Type) -> tuple[RecordType, ...]:
    """Every record of a type, each after those that it holds."""
    match type_:
        case TensorType():
            return ()
        case RecordType():
            inner = (record for field in type_.fields for record in records_in(field.type))
            return (*dict.fromkeys(inner), type_)
        case TupleType():
            return tuple(
                dict.fromkeys(record for item in type_.items for record in records_in(item))
            )


@frozen(slots=True)
class SizeParameter:
    """A parameter `name: size`: it binds a symbol and is no tensor."""

    name: str
    position: int
    """Among all parameters."""


T = TypeVar("T")


def is_private(name: str) -> bool:
    """Whether a function of this name is for its own program only: not exported, not in Python."""
    return name.startswith("_")


@frozen(slots=True)
class Signature:
    """The type of a top-level function."""

    name: str
    declared: tuple[Declared, ...]
    """The tensors and records, as the program writes them."""
    result: Type
    sizes: tuple[SizeParameter, ...] = ()
    """The parameters that are sizes, which stand between the others."""
    aliases: tuple[tuple[int, int], ...] = ()
    """Of a compiled function: the parameters and results that may be one memory, in pairs."""
    parameters: tuple[Parameter, ...] = field(init=False, compare=False, repr=False)
    """The tensors: those of a record one by one."""

    def __post_init__(self) -> None:
        flat = tuple(leaf for declared in self.declared for leaf in leaves(declared))
        object.__setattr__(self, "parameters", flat)

    @property
    def results(self) -> tuple[TensorType, ...]:
        """The result tensors, tuples and records flattened."""
        return flatten(self.result)

    @property
    def records(self) -> tuple[RecordType, ...]:
        """Every record that the function takes or returns, each after those that it holds."""
        types: list[Type] = [declared.type for declared in self.declared]
        return records_in(TupleType((*types, self.result)))

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols: those that `size` parameters bind, then others as the tensors name them."""
        names = (name for parameter in self.parameters for name in parameter.type.symbols)
        return tuple(dict.fromkeys([*(size.name for size in self.sizes), *names]))

    def in_order(self, declared: Iterable[T], sizes: Iterable[T]) -> list[T]:
        """One thing for each parameter, in the order in which the program writes them."""
        ordered = list(declared)
        for size, item in zip(self.sizes, sizes, strict=True):
            ordered.insert(size.position, item)
        return ordered

    def flat_in_order(self, tensors: Iterable[T], sizes: Iterable[T]) -> list[T]:
        """The same with the tensors of records one by one."""
        each = iter(tensors)
        of_declared = [[next(each) for _ in leaves(declared)] for declared in self.declared]
        return [
            item for items in self.in_order(of_declared, [[s] for s in sizes]) for item in items
        ]

    @property
    def names(self) -> list[str]:
        """The names of all parameters, in order."""
        declared = (parameter.name for parameter in self.declared)
        return self.in_order(declared, (size.name for size in self.sizes))

    @property
    def flat_names(self) -> list[str]:
        """The names of all parameters with the tensors of records one by one."""
        tensors = (parameter.name for parameter in self.parameters)
        return self.flat_in_order(tensors, (size.name for size in self.sizes))

    def __str__(self) -> str:
        declared = (f"{p.name}: {p.type}" for p in self.declared)
        shown = self.in_order(declared, (f"{size.name}: size" for size in self.sizes))
        return f"{self.name}({', '.join(shown)}) -> {self.result}{self._shared()}"

    def _shared(self) -> str:
        names = self.output_names
        pairs = [f"{names[r]} may be {self.parameters[p].name}" for p, r in self.aliases]
        return f", {', '.join(pairs)}" if pairs else ""

    @property
    def output_names(self) -> list[str]:
        """What the memory of each result is called, that of a record by its fields."""
        items = self.result.items if isinstance(self.result, TupleType) else (self.result,)
        single = len(items) == 1
        return [
            name
            for position, item in enumerate(items)
            for name in _memory_names(item, "out" if single else f"out{position}")
        ]


def _memory_names(type_: Type, name: str) -> list[str]:
    if not isinstance(type_, RecordType):
        return [name]
    return [leaf.name for leaf in leaves(RecordParameter(name, type_))]
