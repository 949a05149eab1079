"""The items of `over` and `with` as arguments of the function that is folded.

An item is a tensor or a record. A record of `with` is the one that the function takes. One of
`over` cannot be, since its fields have a layer axis more: it is any record of the same fields,
which go by their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kina.errors import counted
from kina.frontend.ast import Expr
from kina.frontend.meaning import RecordValue, flatten
from kina.frontend.typed import Value
from kina.rules.parts import RuleError
from kina.types import Declared, RecordParameter, RecordType, Signature


class Item(NamedTuple):
    """What is given for one parameter."""

    meaning: Value | RecordValue
    node: Expr
    name: str
    """What messages call it: `over[1]`."""
    is_layered: bool


class Operand(NamedTuple):
    """One tensor of an item."""

    value: Value
    node: Expr
    name: str
    """What messages call it: `over[1].norm`."""


def check_arguments(signature: Signature, over: int, whole: int) -> None:
    """A `RuleError` unless the function takes x first, then as many tensors and records."""
    if signature.sizes:
        raise RuleError(
            f"{signature.name} has the size parameter `{signature.sizes[0].name}`, "
            "expected tensors only",
            help="a tensor that has the dimension binds its size",
        )
    if not over:
        raise RuleError("`over` is empty, expected a tensor with a layer axis")
    if len(signature.declared) != 1 + over + whole:
        raise RuleError(
            f"{signature.name} takes {counted(len(signature.declared), 'argument')}, but x, "
            f"{over} of `over` and {whole} of `with` are given"
        )
    first = signature.declared[0]
    if isinstance(first, RecordParameter):
        raise RuleError(
            f"the function takes a record {first.type.name} first, expected a tensor: "
            "the x of a layer"
        )


def operands_of(item: Item, wanted: Declared) -> list[Operand]:
    """The tensors of an item in the order of the parameter's; a `RuleError` if it is none."""
    meaning = item.meaning
    if isinstance(meaning, Value) and not isinstance(wanted, RecordParameter):
        return [Operand(meaning, item.node, item.name)]
    if isinstance(meaning, RecordValue) and isinstance(wanted, RecordParameter):
        if item.is_layered:
            return list(_layered(item.name, item.node, meaning, wanted.type))
        if meaning.record == wanted.type.name:
            return [Operand(value, item.node, item.name) for value in flatten(meaning)]
    found, help_ = "a tensor", None
    if isinstance(meaning, RecordValue):
        found, help_ = f"a record {meaning.record}", _field_help(meaning)
    expected = _expected(wanted, is_layered=item.is_layered)
    raise RuleError(f"{item.name} is {found}, expected {expected}", help=help_)


def _field_help(record: RecordValue) -> str:
    return f"name a field of it, such as .{next(iter(record.fields))}"


def _expected(wanted: Declared, *, is_layered: bool) -> str:
    if not isinstance(wanted, RecordParameter):
        return "a tensor"
    a_record = "a record of which a layer is" if is_layered else "a record"
    return f"{a_record} {wanted.type.name}"


def _layered(name: str, node: Expr, found: RecordValue, wanted: RecordType) -> Iterable[Operand]:
    """The tensors of a record whose fields are stacks of the wanted ones."""
    missing = [field for field in wanted.names if field not in found.fields]
    extra = [field for field in found.fields if field not in wanted.names]
    if missing or extra:
        lacks = f"{found.record} has no {_listed(missing)}"
        has = f"{wanted.name} has no {_listed(extra)}"
        problems = [problem for names, problem in ((missing, lacks), (extra, has)) if names]
        raise RuleError(
            f"{name}: a layer of {found.record} is no {wanted.name}: {', '.join(problems)}",
            help="write a record with the fields of a layer, each with a layer axis",
        )
    for field in wanted.fields:
        meaning = found.fields[field.name]
        assert isinstance(meaning, Value | RecordValue)
        yield from operands_of(Item(meaning, node, f"{name}.{field.name}", is_layered=True), field)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
