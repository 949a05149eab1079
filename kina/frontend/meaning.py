"""What an expression means to the type checker, and the names that are in scope."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from kina.errors import Note
from kina.frontend.ast import Name
from kina.frontend.numbers import AnyNumber
from kina.frontend.report import Report
from kina.frontend.source import Extent
from kina.frontend.typed import Value
from kina.frozen import frozen
from kina.types import Declared, RecordType, TensorType, TupleType, Type, declare


class Wrong(Enum):
    """The meaning of an erroneous expression: its error is reported, dependents stay silent."""

    WRONG = "wrong"


WRONG = Wrong.WRONG


@frozen(slots=True)
class TupleValue:
    """Several values; an item may be a tuple again."""

    items: tuple[Meaning, ...]


@frozen(slots=True)
class RecordValue:
    """The values of a record's fields, in the order of its definition."""

    record: str
    fields: dict[str, Meaning]
    written: tuple[Declared, ...] = ()
    """The fields of the definition."""


Meaning = Value | RecordValue | TupleValue | AnyNumber | Wrong


def flatten(meaning: Meaning) -> tuple[Value, ...]:
    """The tensors of a meaning that has a type, in order."""
    if isinstance(meaning, Value):
        return (meaning,)
    if isinstance(meaning, TupleValue):
        return tuple(value for item in meaning.items for value in flatten(item))
    if isinstance(meaning, RecordValue):
        return tuple(value for item in meaning.fields.values() for value in flatten(item))
    return ()


def type_of(meaning: Meaning) -> Type | None:
    """The type of a tensor, a record or a tuple; None if part of it is wrong."""
    if isinstance(meaning, Value):
        return meaning.type
    if isinstance(meaning, RecordValue):
        items = [(name, type_of(item)) for name, item in meaning.fields.items()]
        known = [(name, t) for name, t in items if isinstance(t, TensorType | RecordType)]
        whole = len(known) == len(items)
        fields = tuple(declare(*item) for item in known)
        return RecordType(meaning.record, fields, meaning.written) if whole else None
    if not isinstance(meaning, TupleValue):
        return None
    items = [type_of(item) for item in meaning.items]
    types = tuple(item for item in items if item is not None)
    return TupleType(types) if len(types) == len(items) else None


def build(type_: Type, values: Iterator[Value]) -> Meaning:
    """The meaning of this type that is made of `values`, which are its tensors in order."""
    match type_:
        case TensorType():
            return next(values)
        case RecordType():
            fields = {field.name: build(field.type, values) for field in type_.fields}
            return RecordValue(type_.name, fields, type_.defined.fields)
        case TupleType():
            return TupleValue(tuple(build(item, values) for item in type_.items))


class Variable(NamedTuple):
    """A name that an expression may read."""

    meaning: Meaning
    extent: Extent


class Scope:
    """The variables in force; an inner binding hides an outer one and later gives it back."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._variables: dict[str, Variable] = {}
        self._hidden: list[tuple[str, Variable | None]] = []

    def bind(self, name: str, meaning: Meaning, extent: Extent) -> None:
        """Binds `name` until `leave` returns to an earlier mark."""
        self._hidden.append((name, self._variables.get(name)))
        self._variables[name] = Variable(meaning, extent)

    def enter(self) -> int:
        """A mark for `leave`."""
        return len(self._hidden)

    def leave(self, mark: int) -> None:
        """Undoes every binding since `mark`."""
        while len(self._hidden) > mark:
            name, before = self._hidden.pop()
            if before is None:
                del self._variables[name]
            else:
                self._variables[name] = before

    def find(self, name: str) -> Variable | None:
        """The variable called `name`."""
        return self._variables.get(name)

    def names(self) -> Iterable[str]:
        """Every name in force."""
        return self._variables.keys()

    def declared(self, *expressions: object) -> list[Note]:
        """For each expression that is a variable, a note where it is bound and of what type."""
        notes: dict[str, Note] = {}
        for expression in expressions:
            variable = self.find(expression.name) if isinstance(expression, Name) else None
            type_ = type_of(variable.meaning) if variable else None
            if isinstance(expression, Name) and variable and type_ is not None:
                message = f"`{expression.name}` has type {type_}"
                notes[expression.name] = self._report.note(message, variable.extent)
        return list(notes.values())
