"""Every name in a program's syntax trees, and what each refers to.

The type checker needs no such table: it forgets names as soon as they have a meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from kina.frontend.ast import (
    Argument,
    ArgumentValue,
    Binary,
    Call,
    DimExpr,
    DimProduct,
    Dims,
    DimSum,
    Expr,
    Field,
    Function,
    Identifier,
    Items,
    Let,
    Literal,
    Name,
    NamedType,
    Negate,
    Not,
    NumberExpr,
    Program,
    Record,
    Reverse,
    Size,
    TupleExpr,
    TypeExpr,
)
from kina.frontend.check_folds import FOLD
from kina.frontend.meaning import Meaning, RecordValue
from kina.frontend.source import Extent
from kina.frozen import frozen
from kina.ops import OPS
from kina.types import is_private


class Kind(Enum):
    """What a name stands for."""

    FUNCTION = "function"
    RECORD = "record"
    FIELD = "field"
    PARAMETER = "parameter"
    VARIABLE = "variable"
    DIMENSION = "dimension"
    OPERATION = "operation"


@frozen(slots=True, eq=False)
class Definition:
    """Where a name is bound; an operation is bound nowhere."""

    name: str
    kind: Kind
    extent: Extent | None
    scope: Extent | None = None
    """Where it may be read as a variable or a size; None: nowhere."""
    value: Expr | None = None
    """What a variable is bound to."""
    position: int = 0
    """Which of the items of a tuple a variable is."""
    alone: bool = True
    """Whether a variable is the whole value, not an item of it."""


@dataclass(slots=True)
class Names:
    """The names of a program: what is bound in it, and what each occurrence refers to."""

    definitions: list[Definition] = field(default_factory=list[Definition])
    uses: list[tuple[Extent, Definition]] = field(default_factory=list[tuple[Extent, Definition]])
    """Bindings included."""
    functions: dict[str, Function | Reverse] = field(default_factory=dict[str, Function | Reverse])
    records: dict[str, Record] = field(default_factory=dict[str, Record])
    bound_at: dict[Extent, Definition] = field(default_factory=dict[Extent, Definition])

    def at(self, offset: int) -> tuple[Extent, Definition] | None:
        """The name at a place, or one that ends there."""
        found = [use for use in self.uses if use[0].start <= offset <= use[0].end]
        return min(found, key=lambda use: use[0].end - use[0].start, default=None)

    def occurrences(self, definition: Definition) -> list[Extent]:
        """Every place where a definition is meant, in order."""
        return sorted({extent for extent, other in self.uses if _same(other, definition)})

    def visible(self, offset: int) -> dict[str, Definition]:
        """What may be read at a place; of two with one name, the later one."""
        return {
            each.name: each
            for each in self.definitions
            if each.scope is not None and each.scope.start <= offset <= each.scope.end
        }


def _same(one: Definition, other: Definition) -> bool:
    return one is other or (one.extent is None and one.name == other.name and not other.extent)


def collect(
    files: Sequence[Program],
    imports: Sequence[Sequence[int]],
    observed: Mapping[Extent, Meaning],
) -> Names:
    """The names of a program in these files, each after those that it imports."""
    names = Names()
    public: list[dict[str, Definition]] = []
    fields: dict[Extent, dict[str, Definition]] = {}
    for program, imported in zip(files, imports, strict=True):
        known: dict[str, Definition] = {}
        for number in imported:
            known.update(public[number])
        collector = _Collector(names, known, fields, observed)
        own = [collector.item(item) for item in program.items]
        public.append({each.name: each for each in own if not is_private(each.name)})
    return names


class _Collector:
    """Walks one file; `known` are the functions and records so far."""

    def __init__(
        self,
        names: Names,
        known: dict[str, Definition],
        fields: dict[Extent, dict[str, Definition]],
        observed: Mapping[Extent, Meaning],
    ) -> None:
        self._names = names
        self._known = known
        self._fields = fields
        self._observed = observed
        self._dims: dict[str, Definition] = {}
        self._variables: dict[str, Definition] = {}
        self._function = Extent(0, 0)

    def item(self, item: Function | Record | Reverse) -> Definition:
        """Everything in an item; its own definition."""
        match item:
            case Record():
                return self._record(item)
            case Reverse():
                return self._reverse(item)
            case Function():
                return self._body(item)

    def _define(
        self,
        name: Identifier,
        kind: Kind,
        scope: Extent | None = None,
        value: Expr | None = None,
        position: int = 0,
        *,
        alone: bool = True,
    ) -> Definition:
        made = Definition(name.name, kind, name.extent, scope, value, position, alone)
        self._names.definitions.append(made)
        self._names.bound_at[name.extent] = made
        self._names.uses.append((name.extent, made))
        return made

    def _use(self, extent: Extent, definition: Definition | None) -> None:
        if definition is not None:
            self._names.uses.append((extent, definition))

    # -- Items.

    def _record(self, item: Record) -> Definition:
        self._dims = {}
        made = self._define(item.name, Kind.RECORD)
        scope = Extent(item.name.extent.start, item.fields[-1].type.extent.end)
        fields = {each.name.name: self._define(each.name, Kind.FIELD) for each in item.fields}
        for each in item.fields:
            self._type(each.type, scope)
        self._fields[item.name.extent] = fields
        self._known[item.name.name] = made
        self._names.records[item.name.name] = item
        return made

    def _reverse(self, item: Reverse) -> Definition:
        self._use(item.function.extent, self._known.get(item.function.name))
        made = self._define(item.name, Kind.FUNCTION)
        self._known[item.name.name] = made
        self._names.functions[item.name.name] = item
        return made

    def _body(self, item: Function) -> Definition:
        made = self._define(item.name, Kind.FUNCTION)
        self._dims, self._variables = {}, {}
        self._function = Extent(item.name.extent.start, item.body.extent.end)
        for size in item.sizes:
            self._dims[size.name.name] = self._define(size.name, Kind.DIMENSION, self._function)
        for parameter in item.parameters:
            self._type(parameter.type, self._function)
        for parameter in item.parameters:
            name = parameter.name
            self._variables[name.name] = self._define(name, Kind.PARAMETER, self._function)
        for result in item.results:
            self._type(result, self._function)
        self._expression(item.body)
        self._known[item.name.name] = made
        self._names.functions[item.name.name] = item
        return made

    # -- Types and dimensions.

    def _type(self, type_: NamedType, scope: Extent) -> None:
        if isinstance(type_, TypeExpr):
            self._dims_of(type_.dims.items, scope)
            return
        record = self._known.get(type_.name.name)
        self._use(type_.name.extent, record)
        for _, dims in type_.sizes:
            self._dims_of(dims.items, scope)

    def _dims_of(self, dims: Sequence[DimExpr], scope: Extent | None) -> None:
        for dim in dims:
            match dim:
                case Identifier():
                    self._symbol(dim, scope)
                case DimSum(_, terms):
                    self._dims_of([term for _, term in terms], scope)
                case DimProduct(_, factors):
                    self._dims_of(factors, scope)
                case Size():
                    pass

    def _symbol(self, name: Identifier, scope: Extent | None) -> None:
        known = self._dims.get(name.name)
        if known is not None:
            self._use(name.extent, known)
        elif scope is not None:
            self._dims[name.name] = self._define(name, Kind.DIMENSION, scope)

    # -- Expressions; the bodies of programs may nest deeper than Python's own recursion.

    def _expression(self, root: Expr) -> None:
        pending: list[Iterator[Expr]] = [iter([root])]
        while pending:
            node = next(pending[-1], None)
            if node is None:
                pending.pop()
            else:
                pending.append(self._inside(node))

    def _inside(self, node: Expr) -> Iterator[Expr]:
        """The parts of an expression; what it says itself is written down on the way."""
        match node:
            case Name():
                variable = self._variables.get(node.name) or self._dims.get(node.name)
                self._use(node.extent, variable)
            case NumberExpr():
                pass
            case Negate() | Not():
                yield node.operand
            case Binary():
                yield from self._operands(node)
            case Call():
                yield from self._call(node)
            case Field():
                yield node.record
                self._field(node)
            case TupleExpr():
                yield from node.items
            case Literal():
                self._dims_of(node.type.dims.items, None)
            case Let():
                yield from self._let(node)

    def _operands(self, node: Binary) -> Iterator[Expr]:
        """All operands of a long sum at once: each operator would be a level of its own."""
        operands: list[Expr] = []
        left: Expr = node
        while isinstance(left, Binary):
            operands.append(left.right)
            left = left.left
        yield left
        yield from reversed(operands)

    def _let(self, node: Let) -> Iterator[Expr]:
        hidden: list[tuple[str, Definition | None]] = []
        for binding in node.bindings:
            yield binding.value
            alone = len(binding.names) == 1
            for position, name in enumerate(binding.names):
                scope = Extent(binding.value.extent.end, node.extent.end)
                hidden.append((name.name, self._variables.get(name.name)))
                self._variables[name.name] = self._define(
                    name, Kind.VARIABLE, scope, binding.value, position, alone=alone
                )
        yield node.body
        for name, before in reversed(hidden):
            if before is None:
                self._variables.pop(name, None)
            else:
                self._variables[name] = before

    def _field(self, node: Field) -> None:
        meaning = self._observed.get(node.record.extent)
        if isinstance(meaning, RecordValue):
            self._use(node.name.extent, self._field_of(meaning.record, node.name.name))

    def _field_of(self, record: str, name: str) -> Definition | None:
        known = self._known.get(record)
        if known is None or known.extent is None:
            return None
        return self._fields.get(known.extent, {}).get(name)

    def _call(self, node: Call) -> Iterator[Expr]:
        name = node.callee.name
        known = self._known.get(name)
        if known is None and (name in OPS or name == FOLD):
            known = Definition(name, Kind.OPERATION, None)
        self._use(node.callee.extent, known)
        is_fold = name == FOLD and known is not None and known.kind is Kind.OPERATION
        for position, argument in enumerate(node.arguments):
            self._named(argument, name, known)
            if is_fold and position == 0 and isinstance(argument.value, Name):
                self._use(argument.value.extent, self._known.get(argument.value.name))
                continue
            yield from self._argument(argument.value)

    def _named(self, argument: Argument, callee: str, known: Definition | None) -> None:
        """The name of an argument is that of a parameter or of a field."""
        if argument.name is None or known is None:
            return
        if known.kind is Kind.RECORD:
            self._use(argument.name.extent, self._field_of(callee, argument.name.name))
            return
        function = self._names.functions.get(callee)
        if known.kind is not Kind.FUNCTION or not isinstance(function, Function):
            return
        for each in function.names:
            if each.name == argument.name.name:
                self._use(argument.name.extent, self._names.bound_at.get(each.extent))

    def _argument(self, value: ArgumentValue) -> Iterator[Expr]:
        match value:
            case Dims(_, items):
                self._dims_of(items, None)
            case Items(_, values):
                yield from values
            case _:
                yield value
