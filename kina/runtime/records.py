"""Records at a call: any mapping, dataclass, named tuple or object in, a named tuple out.

The compiled code knows only their tensors one by one; the names of these are `p.attention.wq`.
"""

from __future__ import annotations

import keyword
from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache
from typing import Any, cast

import numpy as np

from kina.errors import Diagnostic, KinaTypeError, Note
from kina.types import Declared, Parameter, RecordType, Signature, TensorType, Type, flatten


def flat_arguments(signature: Signature, values: Sequence[object]) -> list[object]:
    """The tensors and sizes of a call's arguments, as a function without records takes them.

    Raises `KinaTypeError` for a value that is no record, and for a field that is missing or that
    the record has not.
    """
    by_name = dict(zip(signature.names, values, strict=True))
    tensors: list[object] = []
    for declared in signature.declared:
        what = f"{signature.name}: parameter '{declared.name}'"
        tensors += _tensors(what, declared, by_name[declared.name])
    sizes = [by_name[size.name] for size in signature.sizes]
    return signature.flat_in_order(tensors, sizes)


def _tensors(what: str, declared: Declared, value: object) -> Iterator[object]:
    if isinstance(declared, Parameter):
        yield value
        return
    items = _fields(what, declared.type, value)
    for field, item in zip(declared.type.fields, items, strict=True):
        yield from _tensors(f"{what.removesuffix(chr(39))}.{field.name}'", field, item)


def flat_out(signature: Signature, out: object) -> object:
    """What `out=` gives for each result tensor, as a function without records takes it."""
    if out is None:
        return None
    found = tuple(_outputs(f"{signature.name}: out", signature.result, out))
    return found if len(found) != 1 else found[0]


def _outputs(what: str, type_: Type, out: object) -> Iterator[object]:
    if isinstance(type_, TensorType):
        yield out
    elif out is None:
        yield from (None for _ in flatten(type_))
    elif isinstance(type_, RecordType):
        items = _fields(what, type_, out)
        for field, item in zip(type_.fields, items, strict=True):
            yield from _outputs(f"{what}.{field.name}", field.type, item)
    else:
        given = cast("tuple[object, ...]", out) if isinstance(out, tuple) else (out,)
        if len(given) != len(type_.items):
            came = f"a tuple of {len(given)}" if isinstance(out, tuple) else _kind(out)
            raise KinaTypeError(f"{what}: expected a tuple of {len(type_.items)}, got {came}")
        for index, (item, value) in enumerate(zip(type_.items, given, strict=True)):
            yield from _outputs(f"{what}[{index}]", item, value)


def _fields(what: str, record: RecordType, value: Any) -> list[object]:
    """The values of the record's fields, in its order."""
    if value.__class__ is dict and len(value) == len(record.fields):
        try:  # what most calls have
            return [value[field.name] for field in record.fields]
        except KeyError:
            pass
    if getattr(value, _RECORD, None) == (record.name, record.names):
        return list(value)
    if isinstance(value, Mapping):
        given = dict(cast("Mapping[object, object]", value))
    else:
        given = {name: getattr(value, name) for name in _attributes(record, value)}
        if not given:
            raise _no_record(what, record, value)
    own = dict(zip(python_names(record.names), record.names, strict=True))
    # A name of Python's stands for the field, unless that is there by its own name.
    by_field = {
        name if name in record.names else own.get(cast(str, name), name): item
        for name, item in given.items()
        if name in record.names or own.get(cast(str, name)) not in given
    }
    _check_names(what, record, by_field)
    return [by_field[name] for name in record.names]


def _attributes(record: RecordType, value: Any) -> list[str]:
    """The fields that an object has; of one that does not say, those of the record."""
    if isinstance(value, tuple):
        return [str(name) for name in getattr(cast(Any, value), "_fields", ())]
    if is_dataclass(value):
        return [field.name for field in fields(value)]
    if isinstance(value, np.ndarray | np.generic):
        return []
    # Every object has attributes that begin with `__`.
    own = (name for name in record.names if not name.startswith("__"))
    names = dict.fromkeys((*python_names(record.names), *own))
    return [name for name in names if hasattr(value, name)]


def _check_names(what: str, record: RecordType, given: Any) -> None:
    """Raise `KinaTypeError` for fields that are missing, or that the record has not."""
    names = list(given)
    missing = [name for name in record.names if name not in names]
    extra = [name for name in names if name not in record.names]
    if not missing and not extra:
        return
    problems = [f"misses field '{missing[0]}' of {record}"] if missing else []
    problems += [f"has a field {extra[0]!r} that {record} has not"] if extra else []
    raise KinaTypeError(
        Diagnostic(f"{what} {' and '.join(problems)}", notes=(Note(record.definition()),))
    )


def _no_record(what: str, record: RecordType, value: object) -> KinaTypeError:
    message = f"{what}: expected a record {record}, got {_kind(value)}"
    takes = "a mapping, a dataclass, a named tuple or an object with these fields will do"
    return KinaTypeError(Diagnostic(message, notes=(Note(record.definition()), Note(takes))))


def _kind(value: object) -> str:
    return type(value).__name__


def pack(type_: Type, values: Iterator[Any]) -> Any:
    """The results as the type has them: an array, a named tuple, or a tuple of these."""
    if isinstance(type_, TensorType):
        return next(values)
    if isinstance(type_, RecordType):
        return _class(type_.name, type_.names)(*(pack(f.type, values) for f in type_.fields))
    return tuple(pack(item, values) for item in type_.items)


@lru_cache
def python_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """What the fields of a record are called in Python.

    Leading `_` go to the end, and a keyword gets one; a name that is taken then gets one more.
    """
    taken = {name for name in names if _in_python(name) == name}
    found: list[str] = []
    for name in names:
        own = _in_python(name)
        while own != name and own in taken:
            own += "_"
        taken.add(own)
        found.append(own)
    return tuple(found)


def _in_python(name: str) -> str:
    bare = name.lstrip("_")
    moved = bare + name[: len(name) - len(bare)]
    if not bare or bare[0].isdigit():
        return f"field{name}"
    return f"{moved}_" if keyword.iskeyword(moved) else moved


_RECORD = "_kina_record"
"""The attribute of a named tuple that says of which record it is; no field's name begins so."""


@lru_cache
def _class(name: str, names: tuple[str, ...]) -> type[Any]:
    """The named tuple of a record."""
    shown = name.replace(".", "_")
    shown += "_" * keyword.iskeyword(shown)
    made: Any = namedtuple(shown, python_names(names))  # pyright: ignore[reportUntypedNamedTuple]  # noqa: PYI024
    made.__reduce__ = _pickled
    made.__module__ = __name__
    setattr(made, _RECORD, (name, names))
    return made


def _pickled(self: Any) -> tuple[Any, ...]:
    return _unpickled, (*getattr(self, _RECORD), tuple(self))


def _unpickled(name: str, names: tuple[str, ...], values: Sequence[Any]) -> Any:
    return _class(name, names)(*values)
