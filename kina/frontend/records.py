"""Records: their definitions, the values made of them, and their fields.

A record is a name for several tensors. What it holds stands one by one in the typed program, so
nothing behind the type checker knows of records but the callers of functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kina.dtypes import DTYPES
from kina.errors import Note
from kina.frontend.ast import (
    DimExpr,
    Field,
    Identifier,
    NamedType,
    ParameterExpr,
    Record,
    RecordExpr,
    TypeExpr,
)
from kina.frontend.check_dims import replace_names, resolve_dims
from kina.frontend.check_types import resolve_type
from kina.frontend.foreign import TYPES
from kina.frontend.meaning import WRONG, Meaning, RecordValue, TupleValue, Wrong
from kina.frontend.numbers import AnyNumber
from kina.frontend.report import Report
from kina.frontend.typed import Value
from kina.frozen import frozen
from kina.ops import OPS
from kina.rules.calls import substitute
from kina.rules.parts import RuleError
from kina.types import Declared, Dim, RecordType, TensorType, declare, map_record

MAX_DEPTH = 64
"""How deeply records may nest in one another."""
MAX_TENSORS = 10_000
"""How many tensors a record may hold, in all records within."""


@frozen(slots=True)
class KnownRecord:
    """A record that types and expressions may name."""

    name: Identifier
    type: RecordType | None
    """None: the record is erroneous, and what uses it stays silent."""
    fields: Mapping[str, ParameterExpr]
    depth: int = 1
    """How many records lie in one another, itself included."""
    tensors: int = 0
    """How many it holds in all."""


class Records:
    """The records of one file, each known from its definition on."""

    def __init__(
        self, report: Report, later: Mapping[str, Identifier], imported: dict[str, KnownRecord]
    ) -> None:
        self._report = report
        self._later = later
        self.known = imported
        """Every record so far, those of imported files included."""

    def find(self, name: str) -> KnownRecord | None:
        """The record called `name`."""
        return self.known.get(name)

    def names(self) -> Iterable[str]:
        """Every name so far."""
        return self.known.keys()

    def define(self, node: Record) -> None:
        """Checks a definition; from here on its name is known."""
        fields: dict[str, ParameterExpr] = {}
        for field in node.fields:
            first = fields.setdefault(field.name.name, field)
            if first is not field:
                note = self._report.note("the first one", first.name.extent)
                message = f"field `{field.name.name}` of {node.name.name} is declared twice"
                self._report.error(message, field.name.extent, [note])
        depth, tensors = self._extent(fields.values())
        if self._is_too_large(node.name, depth, tensors):
            self.known.setdefault(node.name.name, KnownRecord(node.name, None, {}))
            return
        type_ = self._type(node, fields)
        if type_ is None:
            fields = {name: field for name, field in fields.items() if self._is_kept(field.type)}
        self.known.setdefault(node.name.name, KnownRecord(node.name, type_, fields, depth, tensors))

    def _extent(self, fields: Iterable[ParameterExpr]) -> tuple[int, int]:
        """Depth and tensors of a record with these fields, from what is known of each."""
        depth, tensors = 1, 0
        for field in fields:
            if isinstance(field.type, TypeExpr):
                tensors += 1
            elif known := self.known.get(field.type.name.name):
                depth, tensors = max(depth, 1 + known.depth), tensors + known.tensors
        return depth, tensors

    def _is_too_large(self, name: Identifier, depth: int, tensors: int) -> bool:
        """Reports a record past one of the limits."""
        if depth > MAX_DEPTH:
            message = f"records nest at most {MAX_DEPTH} deep, {name.name} is one deeper"
        elif tensors > MAX_TENSORS:
            message = f"a record holds at most {MAX_TENSORS} tensors, {name.name} has {tensors}"
        else:
            return False
        self._report.error(message, name.extent)
        return True

    def _is_kept(self, type_: NamedType) -> bool:
        """Whether the dimensions of an erroneous record's field may be asked for.

        A record is not known in its own definition; sizes given over and over, each made of the
        last, may be what is wrong.
        """
        return isinstance(type_, TypeExpr) or (type_.name.name in self.known and not type_.sizes)

    def _type(self, node: Record, fields: Mapping[str, ParameterExpr]) -> RecordType | None:
        found: list[Declared] = []
        for name, field in fields.items():
            type_ = self.resolve(field.type, None)
            if type_ is not None:
                found.append(declare(name, type_))
        if len(found) < len(node.fields):
            return None
        return RecordType(node.name.name, tuple(found))

    def resolve(
        self, type_: NamedType, symbols: Iterable[str] | None
    ) -> TensorType | RecordType | None:
        """The type that `type_` spells; None after reporting what is wrong with it.

        `symbols` are the dimension names that may occur; None: any.
        """
        if isinstance(type_, TypeExpr):
            return resolve_type(type_, symbols, self._report)
        known = self.known.get(type_.name.name)
        if known is None:
            self._report_unknown(type_.name)
            return None
        record = self._sized(type_, known, symbols)
        if record is None or symbols is None:
            return record
        unbound = [symbol for symbol in record.symbols if symbol not in symbols]
        if not unbound:
            return record
        symbol = unbound[0]
        message = f"symbol `{symbol}` of {record} is not bound: "
        message += "no parameter has a dimension of this name"
        help_ = f"say what it is here: {record}<{symbol}=…>"
        self._report.error(message, type_.extent, [self._definition(known)], help_)
        return None

    def _definition(self, known: KnownRecord) -> Note:
        shown = known.type.definition() if known.type else known.name.name
        return self._report.note(f"`{shown}` is defined here", known.name.extent)

    def _sized(
        self, type_: RecordExpr, known: KnownRecord, symbols: Iterable[str] | None
    ) -> RecordType | None:
        """The record with the dimensions that the type gives to its symbols."""
        record = known.type
        if record is None or not type_.sizes:
            return record
        binding: dict[str, Dim] = {symbol: symbol for symbol in record.symbols}
        given: set[str] = set()
        for symbol, dims in type_.sizes:
            found = resolve_dims(dims, symbols, self._report)
            name = symbol.name
            if name not in binding or name in given:
                has = f"is no symbol of {record}, it has {_listed(record.symbols) or 'none'}"
                message = f"`{name}` {'is given twice' if name in given else has}"
                self._report.error(message, symbol.extent, [self._definition(known)])
                return None
            if found is None:
                return None
            binding[name], given = found[0], given | {name}
        try:
            return map_record(record, lambda tensor: substitute(tensor, binding))
        except RuleError as error:
            message = f"{record} cannot have these sizes: {error.message}"
            self._report.error(message, type_.extent, [self._definition(known)])
            return None

    def written_dims(self, type_: NamedType) -> list[DimExpr]:
        """The dimensions that a type names, also where something is wrong with it."""
        if isinstance(type_, TypeExpr):
            return list(type_.dims.items)
        known = self.known.get(type_.name.name)
        if known is None:
            return []
        given = {symbol.name: dims.items[0] for symbol, dims in type_.sizes}
        inner = (dim for field in known.fields.values() for dim in self.written_dims(field.type))
        return [replace_names(dim, given) for dim in inner]

    def _report_unknown(self, name: Identifier) -> None:
        later = self._later.get(name.name)
        if later is not None:
            note = self._report.note("it is bound here", later.extent)
            message = f"`{name.name}` is used as a type before its binding"
            self._report.error(message, name.extent, [note], "a record is defined before its uses")
            return
        if name.name == "size":
            message = "`size` is the type of a parameter only: a size is no value"
            help_ = "as a value it is a tensor: n.cast(I64), of type tensor<I64, []>"
            self._report.error(message, name.extent, help=help_)
            return
        help_ = (
            TYPES.get(name.name)
            or self._report.suggest(name.name, self.known, ("size",))
            or (f"a record is defined by type {name.name} = {{ field: tensor<F32, [2]>, … }}")
        )
        if name.name in DTYPES:
            help_ = f"a tensor is written tensor<{name.name}, [2, 3]>"
        self._report.error(f"unknown type `{name.name}`", name.extent, help=help_)

    def read(self, node: Field, record: Meaning) -> Meaning:
        """The meaning of `record.field`."""
        name = node.name.name
        if isinstance(record, Wrong):
            return WRONG
        if not isinstance(record, RecordValue):
            self._report_no_record(node, record)
            return WRONG
        if name in record.fields:
            return record.fields[name]
        known = self.known.get(record.record)
        assert known is not None
        note = self._report.note(f"{record.record} is defined here", known.name.extent)
        called = f"an operation is called: .{name}()" if name in OPS else None
        help_ = self._report.suggest(name, record.fields) or called
        message = f"{record.record} has no field `{name}`, it has {_listed(record.fields)}"
        self._report.error(message, node.name.extent, [note], help_)
        return WRONG

    def _report_no_record(self, node: Field, found: Value | TupleValue | AnyNumber) -> None:
        name = node.name.name
        what = "a number" if isinstance(found, AnyNumber) else "a tensor"
        what = "a tuple" if isinstance(found, TupleValue) else what
        message = f"`.{name}` reads a field, but this is {what}, expected a record"
        help_ = f"an operation is called: .{name}()" if name in OPS else None
        help_ = help_ or self._report.suggest(name, OPS)
        self._report.error(message, node.name.extent, help=help_)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
