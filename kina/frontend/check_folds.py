"""`fold(block, x, over=[…], with=[…])`: the one place where a function is an argument."""

from __future__ import annotations

from collections.abc import Callable

from kina.frontend.arguments import Bound, Shape, bind_arguments, called_in_messages
from kina.frontend.ast import ArgumentValue, Call, Dims, Expr, Items, Name
from kina.frontend.context import Context, Known
from kina.frontend.fold_items import Item, Operand, check_arguments, operands_of
from kina.frontend.meaning import (
    WRONG,
    Meaning,
    RecordValue,
    TupleValue,
    build,
    type_of,
)
from kina.frontend.steps import Step, Steps
from kina.frontend.typed import FoldFunction, Value
from kina.ops import OPS
from kina.rules.calls import substitute
from kina.rules.folds import FoldTypes, check_invariant, stack_of
from kina.rules.parts import RuleError
from kina.types import Dim, RecordType, Signature, TupleType, Type, map_tensors
from kina.types import flatten as flat_types

FOLD = "fold"
_SHAPE = Shape(("block", "x"), ("over", "with"), optional=("with",))
_BIND = "bind one: let block = fn(x: …, w: …) -> … { … }"

Given = tuple[Value | RecordValue, Expr]
"""An argument, and where it stands."""


class FoldChecker:
    """Checks folds; `check` gives the meaning of an argument."""

    def __init__(self, context: Context, check: Callable[[Expr], Step[Meaning]]) -> None:
        self._context = context
        self._report = context.report
        self._check = check

    def fold(self, node: Call) -> Steps[Meaning]:
        """The meaning of a fold."""
        bound = bind_arguments(node, _SHAPE, self._report)
        if bound is None:
            return WRONG
        if self._is_turned(node, bound):
            return WRONG
        known = self._block(bound["block"])
        parts: list[list[Given] | None] = []
        for name in ("x", *_SHAPE.named):
            parts.append((yield self._given(name, bound)))
        found = [part for part in parts if part is not None]
        if known is None or known.signature is None or len(found) < len(parts):
            return WRONG
        return self._apply(node, known, known.signature, found, bound)

    def _is_turned(self, node: Call, bound: Bound) -> bool:
        """Whether x stands where the function belongs, which is then reported."""
        x, block = bound["block"], bound["x"]
        if self._is_function(x) or not isinstance(block, Name) or not self._is_function(block):
            return False
        message = f"{FOLD}: x stands before the function, expected the function first"
        given = ", ".join(f"{name}=[…]" for name in _SHAPE.named if name in bound)
        shown = x.name if isinstance(x, Name) else "x"
        help_ = f"write {FOLD}({block.name}, {shown}, {given})"
        self._report.error(message, node.callee.extent, help=help_)
        return True

    def _is_function(self, node: ArgumentValue) -> bool:
        """Whether a name is that of a function, and of no variable."""
        if not isinstance(node, Name) or node.name not in self._context.known:
            return False
        return self._context.scope.find(node.name) is None

    def _block(self, node: ArgumentValue) -> Known | None:
        """The function that is named; None after reporting that there is none."""
        if not isinstance(node, Name):
            message = f"{FOLD}: block is an expression, expected the name of a function"
            self._report.error(message, node.extent, help=_BIND)
            return None
        known = self._context.known.get(node.name)
        if known is None:
            self._report_block(node)
        return known

    def _report_block(self, node: Name) -> None:
        name = node.name
        later, variable = self._context.later.get(name), self._context.scope.find(name)
        if later is not None:
            note = self._report.note("it is bound here", later.extent)
            help_ = f"{FOLD} takes a function bound before it: there is no recursion"
            self._report.error(f"`{name}` is used before its binding", node.extent, [note], help_)
        elif variable is not None:
            note = self._report.note("it is bound here", variable.extent)
            message = f"{FOLD}: `{name}` is a variable, expected the name of a function"
            self._report.error(message, node.extent, [note], _BIND)
        elif name in OPS or name == FOLD:
            message = f"{FOLD}: `{name}` is an operation, expected a function of this program"
            self._report.error(message, node.extent, help=_BIND)
        else:
            help_ = self._report.suggest(name, self._context.known)
            self._report.error(f"unknown function `{name}`", node.extent, help=help_)

    def _given(self, name: str, bound: Bound) -> Steps[list[Given] | None]:
        """The items of one argument; None after reporting what is wrong with one."""
        node = bound.get(name)
        if node is None:
            return []
        if (name == "x") == isinstance(node, Items) or isinstance(node, Dims):
            kind, wanted = ("a list", "a tensor") if name == "x" else ("a value", "a list")
            help_ = f"write {name}=[…]" if name != "x" else None
            message = f"{FOLD}: {name} is {kind}, expected {wanted}"
            self._report.error(message, node.extent, help=help_)
            return None
        found: list[Given] = []
        wrong = False
        values = node.values if isinstance(node, Items) else (node,)
        for position, value in enumerate(values):
            meaning: Meaning = yield self._check(value)
            what = name if name == "x" else f"{name}[{position}]"
            if isinstance(meaning, Value) or (isinstance(meaning, RecordValue) and name != "x"):
                found.append((meaning, value))
            elif isinstance(meaning, TupleValue | RecordValue):
                kind, help_ = "a record", "name a field of it"
                if isinstance(meaning, TupleValue):
                    kind = f"a tuple of {len(meaning.items)}"
                    help_ = "take it apart: let (a, b) = … in"
                self._report.error(
                    f"{FOLD}: {what} is {kind}, expected a tensor", value.extent, help=help_
                )
                wrong = True
            else:
                self._context.no_number(meaning, value)
            wrong = wrong or type_of(meaning) is None
        return None if wrong else found

    def _apply(
        self,
        node: Call,
        known: Known,
        signature: Signature,
        given: list[list[Given]],
        bound: Bound,
    ) -> Meaning:
        _, over, whole = map(len, given)
        place = bound["block"] if over else bound["over"]
        try:
            check_arguments(signature, over, whole)
        except RuleError as error:
            self._report_rule(error, known, signature, place)
            return WRONG
        parts = self._operands(known, signature, given)
        return WRONG if parts is None else self._typed(node, known, signature, parts, place)

    def _operands(
        self, known: Known, signature: Signature, given: list[list[Given]]
    ) -> list[list[Operand]] | None:
        """The tensors of x, `over` and `with`; None after reporting what is of another kind."""
        declared = iter(signature.declared)
        parts: list[list[Operand]] = []
        whole = True
        for name, items in zip(("x", *_SHAPE.named), given, strict=True):
            parts.append([])
            for position, (meaning, node) in enumerate(items):
                called = name if name == "x" else f"{name}[{position}]"
                item = Item(meaning, node, called, is_layered=name == "over")
                try:
                    parts[-1] += operands_of(item, next(declared))
                except RuleError as error:
                    self._report_rule(error, known, signature, node)
                    whole = False
        return parts if whole else None

    def _typed(
        self,
        node: Call,
        known: Known,
        signature: Signature,
        parts: list[list[Operand]],
        place: ArgumentValue,
    ) -> Meaning:
        values = [[operand.value for operand in part] for part in parts]
        operands = [operand for part in parts for operand in part]
        names = [operand.name for operand in operands]
        types = FoldTypes(*([value.type for value in part] for part in values), names=names)
        parameters = [parameter.type for parameter in signature.parameters]
        called = called_in_messages(signature.declared)
        try:
            binding = types.bind(signature.name, parameters, called)
            given = map_tensors(signature.result, lambda type_: substitute(type_, binding))
            check_invariant(signature.name, types.carried, flat_types(_first(given)))
        except RuleError as error:
            at = operands[error.blame].node if isinstance(error.blame, int) else place
            self._report_rule(error, known, signature, at)
            return WRONG
        ((x,), over, whole) = values
        result = _of_layers(given, types.layers())
        results = tuple(Value(type_) for type_ in flat_types(result))
        self._context.body.append(
            FoldFunction(signature.name, x, tuple(over), tuple(whole), results, node.callee.extent)
        )
        return build(result, iter(results))

    def _report_rule(
        self, error: RuleError, known: Known, signature: Signature, place: ArgumentValue
    ) -> None:
        notes = [self._report.note(f"{signature} is defined here", known.name.extent)]
        notes += self._context.scope.declared(place)
        self._report.error(f"{FOLD}: {error.message}", place.extent, notes, error.help)


def _first(given: Type) -> Type:
    """What a layer gives for the x of the next one; a `RuleError` for a record."""
    first = given.items[0] if isinstance(given, TupleType) else given
    if isinstance(first, RecordType):
        raise RuleError(
            f"the function gives a record {first.name} first, expected a tensor: "
            "the x of the next layer"
        )
    return first


def _of_layers(given: Type, layers: Dim) -> Type:
    """What a fold gives: the last x, and of all else that a layer gives one for each layer."""
    if not isinstance(given, TupleType):
        return given
    first, *rest = given.items
    stacks = (map_tensors(item, lambda type_: stack_of(layers, type_)) for item in rest)
    return TupleType((first, *stacks))
