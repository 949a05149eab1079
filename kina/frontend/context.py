"""What checking one function shares: names in scope, symbols, and the instructions so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from kina.dtypes import DTYPES, I64
from kina.frontend.ast import Expr, Identifier, Name
from kina.frontend.exact import Number, Scalar
from kina.frontend.meaning import WRONG, Meaning, Scope
from kina.frontend.numbers import SPECIAL, AnyNumber, NonFinite, SizeNumber, special
from kina.frontend.records import Records
from kina.frontend.report import Report
from kina.frontend.source import Extent
from kina.frontend.typed import Apply, Constant, Instruction, TakeSize, Value
from kina.frozen import frozen
from kina.ops import OPS
from kina.rules.parts import Attribute
from kina.types import Dim, Signature, TensorType, format_dims


@frozen(slots=True)
class Known:
    """A top-level function that calls may name."""

    name: Identifier
    signature: Signature | None
    """None: the function is erroneous, and calls of it stay silent."""
    parameters: tuple[Extent, ...] = ()
    """Where each parameter is declared."""


@frozen(slots=True)
class Context:
    """The state of checking one function."""

    report: Report
    symbols: tuple[str, ...]
    """The dimension names that the parameters bind."""
    known: Mapping[str, Known]
    """The functions bound before this one."""
    later: Mapping[str, Identifier]
    """Where this function and those after it are bound."""
    records: Records
    """The records defined before this function."""
    scope: Scope
    body: list[Instruction] = field(default_factory=list[Instruction])
    observed: dict[Extent, Meaning] | None = None
    """Where the meaning of every expression is written down, for an editor."""

    def read(self, node: Name) -> Meaning:
        """The meaning of a name: a variable, else a size, else a number called so."""
        variable = self.scope.find(node.name)
        if variable is not None:
            return variable.meaning
        if node.name in self.symbols:
            return SizeNumber(node.name)
        number = special(node.name)
        if number is not None and not self._is_bound(node.name):
            return number
        message, help_ = self._explain_unknown(node.name)
        self.report.error(message, node.extent, help=help_)
        return WRONG

    def _explain_unknown(self, name: str) -> tuple[str, str | None]:
        if name in self.known or name in self.later:
            return f"`{name}` is a function, expected a tensor", f"call it: {name}(…)"
        if name in OPS:
            return f"`{name}` is an operation, expected a tensor", f"call it: {name}(…)"
        if self.records.find(name):
            return f"`{name}` is a record, expected a tensor", f"make one: {name}(field=…)"
        if name in DTYPES:
            return f"`{name}` is a dtype, expected a tensor", None
        names = self.report.suggest(name, self.scope.names(), self.symbols, SPECIAL)
        return f"unknown name `{name}`", names

    def _is_bound(self, name: str) -> bool:
        """Whether the program calls a function or a record so."""
        bound = name in self.known or name in self.later
        return bound or self.records.find(name) is not None

    def no_number(self, meaning: Meaning, node: Expr, dims: Sequence[Dim] = ()) -> Meaning:
        """`meaning`, unless it is a number: that has neither dtype nor shape on its own.

        `dims` are those that it should have here, if that is known.
        """
        if not isinstance(meaning, AnyNumber):
            return meaning
        own = f"a literal such as tensor<F32, {format_dims(dims)}>({meaning})"
        if not isinstance(meaning, Number | NonFinite):
            shown = str(meaning)
            own = f"({shown}).cast(F32)" if " " in shown else f"{shown}.cast(F32)"
            own += f".broadcast({format_dims(dims)})" if dims else ""
        self.report.error(
            f"the number {meaning} has no dtype and no shape here",
            node.extent,
            help=f"a number stands beside a tensor in arithmetic; on its own write {own}",
        )
        return WRONG

    def emit(
        self,
        op: str,
        operands: Sequence[Value],
        attributes: dict[str, Attribute],
        type_: TensorType,
        at: Extent,
    ) -> Value:
        """Emits a checked operation."""
        result = Value(type_)
        self.body.append(Apply(op, tuple(operands), attributes, result, at))
        return result

    def size(self, dim: str, like: TensorType, at: Extent) -> Value:
        """Emits a size, which becomes a number of the dtype of `like`."""
        result = Value(TensorType(I64, (), like.placement))
        self.body.append(TakeSize(dim, like.dtype, result, at))
        return result

    def constant(self, values: tuple[Scalar, ...], type_: TensorType, at: Extent) -> Value:
        """Emits a constant."""
        result = Value(type_)
        self.body.append(Constant(values, result, at))
        return result
