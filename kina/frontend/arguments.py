"""Which argument of a call goes where."""

from __future__ import annotations

from collections.abc import Sequence

from kina.errors import Note
from kina.frontend.ast import (
    Argument,
    ArgumentValue,
    Binary,
    Call,
    Identifier,
    Name,
    Negate,
    NumberExpr,
)
from kina.frontend.report import Report
from kina.frontend.source import Extent
from kina.frozen import frozen
from kina.types import Declared, Parameter, Signature, leaves

_FOREIGN_NAMES = {
    "dim": "axis",
    "keepdims": "reduce_keep",
    "keepdim": "reduce_keep",
    "epsilon": "eps",
    "gamma": "weight",
    "scale": "weight",
    "beta": "bias",
}


_POSITIONS = frozenset({"start", "at"})
"""Where along an axis: given by name."""


_BRACKETS = frozenset({"dims", "axes"})
"""Lists of numbers."""


@frozen(slots=True)
class Shape:
    """The arguments that a callee takes, each at most once."""

    positional: tuple[str, ...]
    """Given in this order, or by name."""
    named: tuple[str, ...] = ()
    """Given by name only."""
    optional: tuple[str, ...] = ()
    """Of the named ones, those that may be left out."""
    defined: tuple[Signature | str, Extent] | None = None
    """The function or the record, and where it is bound; None: an operation."""

    @property
    def all(self) -> tuple[str, ...]:
        """Every name."""
        return self.positional + self.named

    def notes(self, report: Report) -> tuple[Note, ...]:
        """Where to look when the arguments do not fit."""
        if self.defined is None:
            return ()
        signature, extent = self.defined
        return (report.note(f"{signature} is defined here", extent),)


Bound = dict[str, ArgumentValue]


def bind_arguments(call: Call, shape: Shape, report: Report) -> Bound | None:
    """Each argument under the name it fills; None after reporting what does not fit."""
    bound: Bound = {}
    given: dict[str, Extent] = {}
    fits = True
    named = False
    takes = frozenset(shape.all)
    for position, argument in enumerate(call.arguments):
        if argument.name is not None:
            name = _named_target(call, shape, takes, argument.name, given, report)
            named = True
        elif named:
            name = _report_late(call, argument, report)
        else:
            name = _positional_target(call, shape, position, argument, report)
        if name is None:
            fits = False
        else:
            bound[name] = argument.value
            given[name] = argument.name.extent if argument.name else argument.value.extent
    missing = [n for n in shape.all if n not in bound and n not in shape.optional]
    if fits and missing:
        _report_missing(call, shape, missing, report)
    return bound if fits and not missing else None


def _named_target(
    call: Call,
    shape: Shape,
    takes: frozenset[str],
    target: Identifier,
    given: dict[str, Extent],
    report: Report,
) -> str | None:
    """The name that a named argument fills, or None after reporting that it fills none."""
    name = target.name
    callee = call.callee.name
    if name not in takes:
        if not report.full:
            meant = _FOREIGN_NAMES.get(name)
            help_ = f"did you mean `{meant}`?" if meant else report.suggest(name, shape.all)
            if meant == "reduce_keep" and callee != "reduce":
                help_ = "the axis goes: .reshape([…]) gives it back with size 1"
            message = f"{callee}: unknown argument `{name}`, expected {_list(shape.all)}"
            report.error(message, target.extent, shape.notes(report), help_)
        return None
    if name in given:
        first = report.note("the first one", given[name])
        message = f"{callee}: argument `{name}` is given twice"
        report.error(message, target.extent, [first])
        return None
    return name


def _report_late(call: Call, argument: Argument, report: Report) -> None:
    message = f"{call.callee.name}: a positional argument stands after a named one"
    report.error(message, argument.value.extent, help="put named arguments last")


def _positional_target(
    call: Call, shape: Shape, position: int, argument: Argument, report: Report
) -> str | None:
    callee = call.callee.name
    if position < len(shape.positional):
        return shape.positional[position]
    wanted = f"{len(shape.positional)} positional {_plural('argument', shape.positional)}"
    report.error(
        f"{callee}: unexpected argument, expected {wanted} ({_list(shape.positional)})",
        argument.value.extent,
        shape.notes(report),
        _named_help(shape, argument),
    )
    return None


def misspelt(value: ArgumentValue) -> str | None:
    """The name in `name == value`, which may be meant as `name=value`."""
    if isinstance(value, Binary) and value.symbol == "==" and isinstance(value.left, Name):
        return value.left.name
    return None


def _named_help(shape: Shape, argument: Argument) -> str | None:
    value = argument.value
    name = misspelt(value)
    if name in shape.all:
        return f"an argument is given with one `=`: {name}=…"
    if shape.named and not shape.positional:
        return f"the fields of a record are always named: {shape.named[0]}=…"
    if "over" in shape.named:
        return "what has a layer axis is a list with a name, over=[…], and so is the rest: with=[…]"
    position = next((name for name in shape.named if name in _POSITIONS), None)
    if position is not None:
        return f"a position is always named: {position}=…"
    if "seed" in shape.named:
        return "the seed is always named: seed=…"
    if "k" in shape.named:
        return "how many is always named: k=…, axis=…"
    if shape.positional and (last := shape.positional[-1]) in _BRACKETS:
        return f"the {last} are one list, in brackets: [2, 1]"
    if isinstance(value, NumberExpr | Negate) and "axis" in shape.named:
        named = ", ".join(f"{name}=…" for name in shape.named)
        return f"the axis is always named: {named}"
    if isinstance(value, Name) and "op" in shape.named:
        return f"the reduction is always named: op={value.name}"
    return None


def _report_missing(call: Call, shape: Shape, missing: Sequence[str], report: Report) -> None:
    shown = ", ".join(f"`{name}`" for name in missing)
    message = f"{call.callee.name}: missing {_plural('argument', missing)} {shown}"
    named = [f"{name}=…" for name in missing if name in shape.named]
    help_ = f"write {', '.join(named)}" if named else None
    report.error(message, call.callee.extent, shape.notes(report), help_)


def _plural(word: str, items: Sequence[str]) -> str:
    return word if len(items) == 1 else f"{word}s"


def _list(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names) or "none"


def called_in_messages(declared: Sequence[Declared]) -> list[str]:
    """What messages call each tensor of a call's arguments."""
    return [
        f"argument {position}"
        if isinstance(wanted, Parameter)
        else f"field `{leaf.name.partition('.')[2]}` of argument {position}"
        for position, wanted in enumerate(declared, start=1)
        for leaf in leaves(wanted)
    ]
