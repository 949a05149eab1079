"""`fold(block, x, over=[…], with=[…])`: the one place where a function is an argument."""

from __future__ import annotations

from collections.abc import Callable

from kina.frontend.arguments import Bound, Shape, bind_arguments
from kina.frontend.ast import ArgumentValue, Call, Dims, Expr, Items, Name
from kina.frontend.context import Context, Known
from kina.frontend.meaning import (
    WRONG,
    Meaning,
    RecordValue,
    TupleValue,
    build,
    flatten,
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

Operand = tuple[Value, Expr]


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
        known = self._block(bound["block"])
        operands: list[list[Operand] | None] = []
        for name in ("x", *_SHAPE.named):
            operands.append((yield self._operands(name, bound)))
        found = [part for part in operands if part is not None]
        if known is None or known.signature is None or len(found) < len(operands):
            return WRONG
        return self._apply(node, known, known.signature, found, bound)

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

    def _operands(self, name: str, bound: Bound) -> Steps[list[Operand] | None]:
        """The tensors of one argument; None after reporting what is wrong with one."""
        node = bound.get(name)
        if node is None:
            return []
        if (name == "x") == isinstance(node, Items) or isinstance(node, Dims):
            kind, wanted = ("a list", "a tensor") if name == "x" else ("a value", "a list")
            help_ = f"write {name}=[…]" if name != "x" else None
            message = f"{FOLD}: {name} is {kind}, expected {wanted}"
            self._report.error(message, node.extent, help=help_)
            return None
        found: list[Operand] = []
        wrong = False
        values = node.values if isinstance(node, Items) else (node,)
        for position, value in enumerate(values):
            meaning: Meaning = yield self._check(value)
            what = name if name == "x" else f"{name}[{position}]"
            if isinstance(meaning, Value):
                found.append((meaning, value))
            elif isinstance(meaning, RecordValue) and name != "x":
                found += ((item, value) for item in flatten(meaning))
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
        operands: list[list[Operand]],
        bound: Bound,
    ) -> Meaning:
        values = [[value for value, _ in part] for part in operands]
        types = FoldTypes(*([value.type for value in part] for part in values))
        parameters = [parameter.type for parameter in signature.parameters]
        try:
            if signature.sizes:
                raise RuleError(
                    f"{signature.name} has the size parameter `{signature.sizes[0].name}`, "
                    "expected tensors only",
                    help="a tensor that has the dimension binds its size",
                )
            binding = types.bind(signature.name, parameters)
            given = map_tensors(signature.result, lambda type_: substitute(type_, binding))
            check_invariant(signature.name, types.carried, flat_types(_first(given)))
        except RuleError as error:
            self._report_rule(error, known, signature, operands, bound)
            return WRONG
        ((x,), over, whole) = values
        result = _of_layers(given, types.layers())
        results = tuple(Value(type_) for type_ in flat_types(result))
        self._context.body.append(
            FoldFunction(signature.name, x, tuple(over), tuple(whole), results, node.callee.extent)
        )
        return build(result, iter(results))

    def _report_rule(
        self,
        error: RuleError,
        known: Known,
        signature: Signature,
        operands: list[list[Operand]],
        bound: Bound,
    ) -> None:
        place = bound["block"] if operands[1] else bound["over"]
        if isinstance(error.blame, int):
            place = [node for part in operands for _, node in part][error.blame]
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
