"""The typed program: what the type checker makes of a syntax tree.

Names, tuples and nesting are gone: a function is a list of instructions in the order of evaluation,
each with a known type and place, and IR generation only has to write them down.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from kina.dims import Dim
from kina.dtypes import DType
from kina.errors import Diagnostic
from kina.frontend.source import Extent, Source
from kina.frozen import frozen
from kina.rules.parts import Attribute
from kina.types import Signature, TensorType, is_private

if TYPE_CHECKING:
    from kina.frontend.exact import Scalar


@frozen(slots=True, eq=False)
class Value:
    """One tensor: a parameter or a result of an instruction; compared by identity."""

    type: TensorType


class Apply(NamedTuple):
    """An operation of the op table; `attributes` holds exactly the arguments it names."""

    op: str
    operands: tuple[Value, ...]
    attributes: dict[str, Attribute]
    result: Value
    extent: Extent


class Take(NamedTuple):
    """The elements at the places that `top_k` found along its axis."""

    values: Value
    places: Value
    axis: int
    result: Value
    extent: Extent

    @property
    def operands(self) -> tuple[Value, ...]:
        """All of them."""
        return (self.values, self.places)


class Constant(NamedTuple):
    """A tensor known at compile time: one value per element, row-major; no symbolic dimensions."""

    values: tuple[Scalar, ...]
    result: Value
    extent: Extent


class TakeSize(NamedTuple):
    """A size as a rank-0 I64, which is then a number of `dtype`."""

    size: str
    dtype: DType
    result: Value
    extent: Extent


class CallFunction(NamedTuple):
    """A call of a top-level function; a tuple result is flattened."""

    callee: str
    operands: tuple[Value, ...]
    sizes: tuple[Dim, ...]
    """For the callee's `size` parameters."""
    results: tuple[Value, ...]
    extent: Extent


class Differentiate(NamedTuple):
    """A function's results, then its gradients by the parameters at `wrt` (`reverseMode`)."""

    callee: str
    operands: tuple[Value, ...]
    """The callee's, then the cotangents."""
    sizes: tuple[Dim, ...]
    """For the callee's `size` parameters."""
    wrt: tuple[int, ...]
    results: tuple[Value, ...]
    extent: Extent


class FoldFunction(NamedTuple):
    """A function applied layer after layer: `x` becomes the first tensor that it returns."""

    callee: str
    x: Value
    over: tuple[Value, ...]
    whole: tuple[Value, ...]
    results: tuple[Value, ...]
    """The last x, then stacks of what else each layer gives."""
    extent: Extent

    @property
    def operands(self) -> tuple[Value, ...]:
        """All of them, in the order of the callee's parameters."""
        return (self.x, *self.over, *self.whole)


Instruction = Apply | Take | Constant | TakeSize | CallFunction | Differentiate | FoldFunction


@frozen(slots=True)
class TypedFunction:
    """A function with a body."""

    signature: Signature
    parameters: tuple[Value, ...]
    body: tuple[Instruction, ...]
    results: tuple[Value, ...]
    extent: Extent
    parameter_extents: tuple[Extent, ...]
    result_extent: Extent
    """The expression that is returned."""

    @property
    def values(self) -> Iterator[Value]:
        """The parameters and the results of every instruction."""
        yield from self.parameters
        for instruction in self.body:
            if isinstance(instruction, Apply | Take | Constant | TakeSize):
                yield instruction.result
            else:
                yield from instruction.results


@frozen(slots=True)
class TypedProgram:
    """A whole checked file, its functions in order."""

    source: Source
    functions: tuple[TypedFunction, ...]
    warnings: tuple[Diagnostic, ...] = ()
    chosen: frozenset[str] | None = None
    """The functions to export; None: all that are not private."""
    own: frozenset[str] | None = None
    """The functions of the program's own file; None: all are."""

    @property
    def signatures(self) -> dict[str, Signature]:
        """The type of each function by its name."""
        return {function.signature.name: function.signature for function in self.functions}

    @property
    def own_signatures(self) -> dict[str, Signature]:
        """Those of the program's own file."""
        known = self.signatures
        return known if self.own is None else {n: s for n, s in known.items() if n in self.own}

    @property
    def exported(self) -> dict[str, Signature]:
        """The functions that callers see; the others exist for these."""
        return {
            name: signature
            for name, signature in self.own_signatures.items()
            if not is_private(name) and (self.chosen is None or name in self.chosen)
        }

    @property
    def symbols(self) -> dict[str, str]:
        """What each exported function is called in a library, without the prefix.

        One that takes or returns records has its own name in C, where the header defines it, for
        structs; what the library holds takes their tensors one by one.
        """
        taken = set(self.exported)
        symbols: dict[str, str] = {}
        for name, signature in self.exported.items():
            symbol = f"{name}_flat" if signature.records else name
            while symbol in taken and signature.records:
                symbol += "_"
            taken.add(symbol)
            symbols[name] = symbol
        return symbols

    @property
    def dtypes(self) -> frozenset[DType]:
        """The dtype of every value in the program."""
        values = [value for function in self.functions for value in function.values]
        return frozenset(value.type.dtype for value in values)
