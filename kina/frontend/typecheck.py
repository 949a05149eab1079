"""From the syntax tree to the typed program: top-level names, signatures and results."""

from __future__ import annotations

from collections.abc import Sequence

from kina.frontend.ast import (
    Expr,
    Function,
    Identifier,
    Item,
    Let,
    Program,
    Record,
    Reverse,
    TupleExpr,
)
from kina.frontend.check_dims import bound_symbols
from kina.frontend.check_expressions import ExpressionChecker
from kina.frontend.context import Context, Known
from kina.frontend.discrete import ContestPaths
from kina.frontend.meaning import WRONG, Meaning, Scope, build, flatten, type_of
from kina.frontend.records import KnownRecord, Records
from kina.frontend.report import Report
from kina.frontend.reverse import ReverseChecker
from kina.frontend.source import Extent
from kina.frontend.steps import run
from kina.frontend.typed import TypedFunction, TypedProgram, Value
from kina.frozen import frozen
from kina.types import (
    Parameter,
    RecordType,
    Signature,
    SizeParameter,
    TensorType,
    TupleType,
    Type,
    declare,
    is_private,
    leaves,
)
from kina.types import flatten as flat_types


def typecheck(
    files: Sequence[Program],
    imports: Sequence[Sequence[int]],
    report: Report,
    observed: dict[Extent, Meaning] | None = None,
) -> TypedProgram:
    """The typed program; the functions with errors, which go to `report`, are left out.

    Each file comes after those that it imports; the last is the program's own. The meaning of every
    expression is added to `observed`.
    """
    functions: list[TypedFunction] = []
    public: list[_Public] = []
    names: dict[str, Identifier] = {}
    for file, imported in zip(files, imports, strict=True):
        visible = _Public({}, {})
        for number in imported:
            visible.functions.update(public[number].functions)
            visible.records.update(public[number].records)
        for number, path in zip(imported, file.imports, strict=False):
            if not public[number].functions and not public[number].records:
                _warn_of_nothing(report, report.source.parts[number][1].name, files[number], path)
        checker = _ProgramChecker(file, report, visible, names, observed)
        checker.check(functions)
        public.append(checker.public)
        if file is files[-1]:
            checker.check_exports()
    own = frozenset(item.name.name for item in files[-1].items)
    return TypedProgram(report.source, tuple(functions), report.warnings(), own=own)


def _warn_of_nothing(report: Report, name: str, file: Program, path: Extent) -> None:
    """A file is imported that has nothing to see."""
    if file.items:
        help_ = "names that start with `_` are private to their file"
    elif file.imports:
        help_ = "what a file imports is not passed on: import it here"
    else:
        help_ = "write its functions, or leave the import out"
    report.warn(f"{name} has no public function and no public record", path, help_)


@frozen(slots=True)
class _Public:
    """What files see that import a file."""

    functions: dict[str, Known]
    records: dict[str, KnownRecord]


class _ProgramChecker:
    """Checks one file; `names` are those of the functions of all files so far."""

    def __init__(
        self,
        program: Program,
        report: Report,
        visible: _Public,
        names: dict[str, Identifier],
        observed: dict[Extent, Meaning] | None,
    ) -> None:
        self._program = program
        self._observed = observed
        self._report = report
        self._known = visible.functions
        self._names = names
        self._later = {item.name.name: item.name for item in reversed(program.items)}
        self._records = Records(report, self._later, visible.records)

    @property
    def public(self) -> _Public:
        """What files see that import this one."""
        own = {i.name.name for i in self._program.items if not is_private(i.name.name)}
        return _Public(
            {name: known for name, known in self._known.items() if name in own},
            {name: known for name, known in self._records.known.items() if name in own},
        )

    def check(self, functions: list[TypedFunction]) -> None:
        """Add the functions of the file."""
        paths = ContestPaths(functions)
        for item in self._program.items:
            self._check_name(item)
            match item:
                case Record():
                    self._records.define(item)
                    self._later.pop(item.name.name, None)
                    continue
                case Reverse():
                    function = self._reverse(item, paths)
                case Function():
                    function = self._function(item)
            if function is not None:
                functions.append(function)

    def _check_name(self, item: Item) -> None:
        name = item.name
        before = self._names.setdefault(name.name, name)
        if before is not name:
            note = self._report.note("the first one", before.extent)
            kind = "record" if self._records.find(name.name) else "function"
            self._report.error(f"a {kind} `{name.name}` exists already", name.extent, [note])

    def check_exports(self) -> None:
        """Report a program of which nothing can be called."""
        items = self._program.items
        names = [item.name for item in items if not isinstance(item, Record)]
        if not items:
            return
        if not names:
            message = "the program has records and no function, so nothing to call"
            self._report.error(message, items[-1].name.extent)
        elif all(is_private(name.name) for name in names):
            message = "every function is private, so the program has nothing to call"
            help_ = "a function whose name has no leading underscore is exported"
            self._report.error(message, names[-1].extent, help=help_)

    def _bind(self, known: Known) -> None:
        self._known.setdefault(known.name.name, known)
        self._later.pop(known.name.name, None)

    def _reverse(self, node: Reverse, paths: ContestPaths) -> TypedFunction | None:
        checker = ReverseChecker(self._report, self._known, self._later, paths)
        known, function = checker.check(node)
        self._bind(known)
        return function

    def _function(self, node: Function) -> TypedFunction | None:
        types = self._parameter_types(node)
        # The symbols of an erroneous parameter count as bound: no second error about them.
        dims = [dim for p in node.parameters for dim in self._records.written_dims(p.type)]
        named = [size.name.name for size in node.sizes]
        symbols = bound_symbols(dims, named, self._report)
        result = self._result_type(node, symbols)
        signature = None
        if result is not None and all(type_ is not None for type_ in types):
            pairs = zip(node.parameters, types, strict=True)
            declared = tuple(declare(p.name.name, type_) for p, type_ in pairs if type_ is not None)
            sizes = tuple(SizeParameter(size.name.name, size.position) for size in node.sizes)
            signature = Signature(node.name.name, declared, result, sizes)
        function = self._body(node, types, symbols, result, signature)
        extents = tuple(parameter.name.extent for parameter in node.parameters)
        self._bind(Known(node.name, signature, extents))
        return function

    def _parameter_types(self, node: Function) -> list[TensorType | RecordType | None]:
        declared: dict[str, Extent] = {}
        for name in node.names:
            if name.name in declared:
                note = self._report.note("the first one", declared[name.name])
                message = f"parameter `{name.name}` is declared twice"
                self._report.error(message, name.extent, [note])
            declared.setdefault(name.name, name.extent)
        return [self._records.resolve(parameter.type, None) for parameter in node.parameters]

    def _result_type(self, node: Function, symbols: tuple[str, ...]) -> Type | None:
        found = [self._records.resolve(type_, symbols) for type_ in node.results]
        types = tuple(type_ for type_ in found if type_ is not None)
        if len(types) < len(found):
            return None
        return types[0] if len(types) == 1 else TupleType(types)

    def _body(
        self,
        node: Function,
        types: list[TensorType | RecordType | None],
        symbols: tuple[str, ...],
        result: Type | None,
        signature: Signature | None,
    ) -> TypedFunction | None:
        scope = Scope(self._report)
        parameters: list[Value] = []
        extents: list[Extent] = []
        for parameter, type_ in zip(node.parameters, types, strict=True):
            values = [] if type_ is None else [Value(tensor) for tensor in flat_types(type_)]
            meaning: Meaning = WRONG if type_ is None else build(type_, iter(values))
            scope.bind(parameter.name.name, meaning, parameter.name.extent)
            parameters += values
            extents += [parameter.name.extent] * len(values)
        context = Context(
            self._report,
            symbols,
            self._known,
            self._later,
            self._records,
            scope,
            observed=self._observed,
        )
        meaning = run(ExpressionChecker(context).check(node.body))
        if result is not None:
            self._check_result(node, context.no_number(meaning, final(node.body)), result)
        if signature is None:
            return None
        return TypedFunction(
            signature,
            tuple(parameters),
            tuple(context.body),
            flatten(meaning),
            node.name.extent,
            tuple(extents),
            final(node.body).extent,
        )

    def _check_result(self, node: Function, meaning: Meaning, expected: Type) -> None:
        found = type_of(meaning)
        if found is None or found == expected:
            return
        last = final(node.body)
        wrong = _wrong_items(found, expected)
        if isinstance(last, TupleExpr) and isinstance(expected, TupleType) and wrong is not None:
            for position in wrong:
                item = f"result {position + 1}"
                types = _items(found)[position], expected.items[position]
                declared = node.results[position].extent
                self._mismatch(node, item, types, last.items[position].extent, declared)
            return
        self._mismatch(node, "the body", (found, expected), last.extent, node.result_extent)

    def _mismatch(
        self, node: Function, what: str, types: tuple[Type, Type], at: Extent, declared: Extent
    ) -> None:
        found, expected = types
        note = self._report.note(f"the result is declared as {expected}", declared)
        message = f"{node.name.name}: {what} has type {found}, expected {expected}"
        message += _differing_field(found, expected)
        self._report.error(message, at, [note], _renamed(found, expected))


def final(body: Expr) -> Expr:
    """The expression whose value a body returns."""
    while isinstance(body, Let):
        body = body.body
    return body


def _wrong_items(found: Type, expected: Type) -> list[int] | None:
    """Which items of two tuples of one length differ; None for anything else."""
    pair = _items(found), _items(expected)
    if len(pair[0]) != len(pair[1]):
        return None
    return [position for position, (f, e) in enumerate(zip(*pair, strict=True)) if f != e]


def _items(type_: Type) -> tuple[Type, ...]:
    return type_.items if isinstance(type_, TupleType) else ()


def _differing_field(found: Type, expected: Type) -> str:
    """Where two records of one name differ: their names do not say it."""
    if not isinstance(found, RecordType) or not isinstance(expected, RecordType):
        return ""
    if found.name != expected.name:
        return ""
    for one, other in zip(_leaves(found), _leaves(expected), strict=True):
        if one != other:
            return f": field `{one.name}` has type {one.type}, expected {other.type}"
    return ""


def _renamed(found: Type, expected: Type) -> str | None:
    """Help for a record that has the fields of another one, but not its name."""
    for one, other in [(found, expected), *zip(_items(found), _items(expected), strict=False)]:
        if not isinstance(one, RecordType) or not isinstance(other, RecordType):
            continue
        if one.name != other.name and one.names == other.names:
            fields = ", ".join(f"{name}=….{name}" for name in one.names)
            return f"records of two names are of two types: write {other.name}({fields})"
    return None


def _leaves(record: RecordType) -> list[Parameter]:
    return [leaf for field in record.fields for leaf in leaves(field)]
