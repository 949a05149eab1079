"""What a compiled library says about itself, as JSON: functions, types, messages of its checks.

Reading it needs neither xDSL nor the source, so a cached program loads fast.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

from kina.dtypes import DTYPES
from kina.errors import Diagnostic, Note, Severity, Span
from kina.frozen import frozen
from kina.rules.requirements import Requirement
from kina.types import (
    Declared,
    Dim,
    Placement,
    RecordType,
    Signature,
    SizeParameter,
    TensorType,
    TupleType,
    Type,
    declare,
)

FORMAT = 5
"""Raised when the layout of `meta.json` changes; other formats are rebuilt."""


@frozen(slots=True)
class CompiledFunction:
    """One exported function of a library."""

    signature: Signature
    c_name: str
    """Its name in C."""
    symbol: str
    """Its name in the library; another one if records are structs in C, and not there."""
    messages: tuple[str, ...]
    """What each check says: status n stands for `messages[n - 1]`."""

    ranges: tuple[tuple[Dim, ...], ...]
    """Per parameter, the sizes that it indexes."""

    requirements: tuple[Requirement, ...] = ()
    """What it requires of sizes: the status of a call that breaks one is `BAD_SIZE`."""

    threads: bool = False
    """Whether a large call of this function, or of one compiled with it, may run on several."""

    @property
    def name(self) -> str:
        """Its name in the program."""
        return self.signature.name


@frozen(slots=True)
class Compiled:
    """What a compiled library says about itself."""

    functions: tuple[CompiledFunction, ...]
    warnings: tuple[Diagnostic, ...]


def to_json(compiled: Compiled) -> dict[str, object]:
    """It as plain lists and dicts."""
    return {
        "functions": _functions_to_json(compiled.functions),
        "warnings": [asdict(warning) for warning in compiled.warnings],
    }


def from_json(data: Mapping[str, Any]) -> Compiled:
    """The inverse of `to_json`; raises `KeyError`, `TypeError` or `ValueError` for other data."""
    warnings = tuple(_diagnostic_from_json(warning) for warning in data["warnings"])
    return Compiled(_functions_from_json(data["functions"]), warnings)


def _diagnostic_from_json(data: Mapping[str, Any]) -> Diagnostic:
    notes = tuple(Note(note["message"], _span_from_json(note["span"])) for note in data["notes"])
    span = _span_from_json(data["span"])
    return Diagnostic(data["message"], span, notes, Severity(data["severity"]))


def _span_from_json(data: Mapping[str, Any] | None) -> Span | None:
    return None if data is None else Span(**data)


def _functions_to_json(functions: Sequence[CompiledFunction]) -> list[dict[str, object]]:
    return [
        {
            "name": function.name,
            "c_name": function.c_name,
            "symbol": function.symbol,
            "parameters": [
                [declared.name, _type_to_json(declared.type)]
                for declared in function.signature.declared
            ],
            "sizes": [[size.name, size.position] for size in function.signature.sizes],
            "result": _type_to_json(function.signature.result),
            "aliases": [list(pair) for pair in function.signature.aliases],
            "messages": list(function.messages),
            "ranges": [list(sizes) for sizes in function.ranges],
            "requirements": [asdict(each) for each in function.requirements],
            "threads": function.threads,
        }
        for function in functions
    ]


def _functions_from_json(data: Sequence[Mapping[str, Any]]) -> tuple[CompiledFunction, ...]:
    return tuple(
        CompiledFunction(
            Signature(
                entry["name"],
                tuple(
                    declare(name, cast("TensorType | RecordType", _type_from_json(type_)))
                    for name, type_ in entry["parameters"]
                ),
                _type_from_json(entry["result"]),
                tuple(SizeParameter(name, position) for name, position in entry["sizes"]),
                tuple((int(parameter), int(result)) for parameter, result in entry["aliases"]),
            ),
            entry["c_name"],
            entry["symbol"],
            tuple(entry["messages"]),
            tuple(tuple(sizes) for sizes in entry["ranges"]),
            tuple(Requirement(**each) for each in entry["requirements"]),
            bool(entry["threads"]),
        )
        for entry in data
    )


def _type_to_json(type_: Type) -> object:
    if isinstance(type_, TupleType):
        return [_type_to_json(item) for item in type_.items]
    if isinstance(type_, RecordType):
        parts = {"fields": type_.fields, "written": type_.written}
        shown = {
            key: [[field.name, _type_to_json(field.type)] for field in fields]
            for key, fields in parts.items()
        }
        return {"record": type_.name, **shown}
    return {"dtype": type_.dtype.name, "dims": list(type_.dims), "at": type_.placement.value}


def _type_from_json(data: Any) -> Type:
    if isinstance(data, list):
        items = cast("list[object]", data)
        return TupleType(tuple(_type_from_json(item) for item in items))
    if "record" in data:
        fields, written = (_fields_from_json(data[key]) for key in ("fields", "written"))
        return RecordType(data["record"], fields, written)
    return TensorType(DTYPES[data["dtype"]], tuple(data["dims"]), Placement(data["at"]))


def _fields_from_json(pairs: Sequence[tuple[str, object]]) -> tuple[Declared, ...]:
    return tuple(
        declare(name, cast("TensorType | RecordType", _type_from_json(field)))
        for name, field in pairs
    )
