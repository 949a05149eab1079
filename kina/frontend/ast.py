"""The syntax tree: what the parser read, with the place of every part.

Names of types, operations and dimensions are still text here; the type checker gives them meaning.
"""

from __future__ import annotations

from typing import NamedTuple

from kina.frontend.source import Extent


class Identifier(NamedTuple):
    """A name where it is bound, or where it names no value (an operation, a dtype, a symbol)."""

    extent: Extent
    name: str


class Size(NamedTuple):
    """An integer dimension, as written."""

    extent: Extent
    text: str


class DimSum(NamedTuple):
    """`T + 1`, `2 * T - 1`: terms, each with its sign."""

    extent: Extent
    terms: tuple[tuple[str, DimExpr], ...]


class DimProduct(NamedTuple):
    """`3 * D`, `H * (K + 1)`."""

    extent: Extent
    factors: tuple[DimExpr, ...]


DimExpr = Identifier | Size | DimSum | DimProduct


class Dims(NamedTuple):
    """`[B, 4, T + 1]`."""

    extent: Extent
    items: tuple[DimExpr, ...]


class TypeExpr(NamedTuple):
    """`tensor<F32, [B, 4], @host>`."""

    extent: Extent
    dtype: Identifier
    dims: Dims
    placement: Identifier | None


class RecordExpr(NamedTuple):
    """`Layer`, or `Layer<D=4>`: a record, with other dimensions for some of its symbols."""

    extent: Extent
    name: Identifier
    sizes: tuple[tuple[Identifier, Dims], ...]


NamedType = TypeExpr | RecordExpr
"""The type of a parameter, a field or a result."""


class Name(NamedTuple):
    """A variable that is read."""

    extent: Extent
    name: str


class NumberExpr(NamedTuple):
    """A number, as written."""

    extent: Extent
    text: str


class Negate(NamedTuple):
    """`-operand`."""

    extent: Extent
    operator: Extent
    operand: Expr


class Not(NamedTuple):
    """`!operand`."""

    extent: Extent
    operator: Extent
    operand: Expr


class Binary(NamedTuple):
    """`left + right`, and so on."""

    extent: Extent
    operator: Extent
    symbol: str
    left: Expr
    right: Expr


class Items(NamedTuple):
    """`[w1, w2]`, where an argument is a list of values."""

    extent: Extent
    values: tuple[Expr, ...]


class Argument(NamedTuple):
    """One argument of a call; `name` is None for a positional one."""

    name: Identifier | None
    value: ArgumentValue


class Call(NamedTuple):
    """`callee(arguments)`, or `first.callee(others)`: one meaning, two spellings."""

    extent: Extent
    callee: Identifier
    arguments: tuple[Argument, ...]


class Field(NamedTuple):
    """`record.name`."""

    extent: Extent
    record: Expr
    name: Identifier


class TupleExpr(NamedTuple):
    """`(a, b)`."""

    extent: Extent
    items: tuple[Expr, ...]


class LiteralValue(NamedTuple):
    """One value of a tensor literal, its sign included."""

    extent: Extent
    text: str


class Literal(NamedTuple):
    """`tensor<F32, [2]>(1.0, -inf)`."""

    extent: Extent
    type: TypeExpr
    values: tuple[LiteralValue, ...]


class Binding(NamedTuple):
    """`let names = value in`; several names take a tuple apart."""

    names: tuple[Identifier, ...]
    pattern: Extent
    value: Expr


class Let(NamedTuple):
    """One or more bindings, each in force in those after it and in the body."""

    extent: Extent
    bindings: tuple[Binding, ...]
    body: Expr


Expr = Name | NumberExpr | Negate | Not | Binary | Call | Field | TupleExpr | Literal | Let
ArgumentValue = Expr | Dims | Items
"""What stands in an argument of a call."""


class ParameterExpr(NamedTuple):
    """`name: type`, of a function or of a record."""

    name: Identifier
    type: NamedType


class Record(NamedTuple):
    """`type name = { field: type, … }`."""

    name: Identifier
    fields: tuple[ParameterExpr, ...]


class SizeExpr(NamedTuple):
    """`name: size`; the position is that among all parameters."""

    name: Identifier
    position: int


class Function(NamedTuple):
    """`let name = fn(parameters) -> results { body }`; several results are a tuple."""

    name: Identifier
    parameters: tuple[ParameterExpr, ...]
    """The tensors and records."""
    sizes: tuple[SizeExpr, ...]
    results: tuple[NamedType, ...]
    result_extent: Extent
    body: Expr

    @property
    def names(self) -> list[Identifier]:
        """The names of all parameters, in order."""
        names = [parameter.name for parameter in self.parameters]
        for size in self.sizes:
            names.insert(size.position, size.name)
        return names


class Path(NamedTuple):
    """A parameter, or a field of one: `p.attention.wq`."""

    extent: Extent
    names: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.names)


class Reverse(NamedTuple):
    """`let name = reverseMode(function, wrt=[parameters])`."""

    name: Identifier
    extent: Extent
    function: Identifier
    wrt: tuple[Path, ...] | None


Item = Record | Function | Reverse


class Program(NamedTuple):
    """A whole file."""

    items: tuple[Item, ...]
    imports: tuple[Extent, ...] = ()
    """The path of each import."""
