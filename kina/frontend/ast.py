"""The syntax tree: what the parser read, with the place of every part.

Names of types, operations and dimensions are still text here; the type checker gives them meaning.
"""

from __future__ import annotations

from dataclasses import dataclass

from kina.frontend.source import Extent


@dataclass(frozen=True, slots=True)
class Identifier:
    """A name where it is bound, or where it names no value (an operation, a dtype, a symbol)."""

    extent: Extent
    name: str


@dataclass(frozen=True, slots=True)
class Size:
    """An integer dimension, as written."""

    extent: Extent
    text: str


DimExpr = Identifier | Size


@dataclass(frozen=True, slots=True)
class Dims:
    """`[B, 4, 8]`."""

    extent: Extent
    items: tuple[DimExpr, ...]


@dataclass(frozen=True, slots=True)
class TypeExpr:
    """`tensor<F32, [B, 4], @host>`."""

    extent: Extent
    dtype: Identifier
    dims: Dims
    placement: Identifier | None


@dataclass(frozen=True, slots=True)
class Name:
    """A variable that is read."""

    extent: Extent
    name: str


@dataclass(frozen=True, slots=True)
class NumberExpr:
    """A number, as written."""

    extent: Extent
    text: str


@dataclass(frozen=True, slots=True)
class Negate:
    """`-operand`."""

    extent: Extent
    operator: Extent
    operand: Expr


@dataclass(frozen=True, slots=True)
class Binary:
    """`left + right`, and so on."""

    extent: Extent
    operator: Extent
    symbol: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call; `name` is None for a positional one."""

    name: Identifier | None
    value: Expr | Dims


@dataclass(frozen=True, slots=True)
class Call:
    """`callee(arguments)`, or `first.callee(others)`: one meaning, two spellings."""

    extent: Extent
    callee: Identifier
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class TupleExpr:
    """`(a, b)`."""

    extent: Extent
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class LiteralValue:
    """One value of a tensor literal, its sign included."""

    extent: Extent
    text: str


@dataclass(frozen=True, slots=True)
class Literal:
    """`tensor<F32, [2]>(1.0, -inf)`."""

    extent: Extent
    type: TypeExpr
    values: tuple[LiteralValue, ...]


@dataclass(frozen=True, slots=True)
class Binding:
    """`let names = value in`; several names take a tuple apart."""

    names: tuple[Identifier, ...]
    pattern: Extent
    value: Expr


@dataclass(frozen=True, slots=True)
class Let:
    """One or more bindings, each in force in those after it and in the body."""

    extent: Extent
    bindings: tuple[Binding, ...]
    body: Expr


Expr = Name | NumberExpr | Negate | Binary | Call | TupleExpr | Literal | Let


@dataclass(frozen=True, slots=True)
class ParameterExpr:
    """`name: type`."""

    name: Identifier
    type: TypeExpr


@dataclass(frozen=True, slots=True)
class Function:
    """`let name = fn(parameters) -> results { body }`; several results are a tuple."""

    name: Identifier
    parameters: tuple[ParameterExpr, ...]
    results: tuple[TypeExpr, ...]
    result_extent: Extent
    body: Expr


@dataclass(frozen=True, slots=True)
class Reverse:
    """`let name = reverseMode(function, wrt=[parameters])`."""

    name: Identifier
    extent: Extent
    function: Identifier
    wrt: tuple[Identifier, ...] | None


Item = Function | Reverse


@dataclass(frozen=True, slots=True)
class Program:
    """A whole file."""

    items: tuple[Item, ...]
