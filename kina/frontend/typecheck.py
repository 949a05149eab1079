"""From the syntax tree to the typed program: top-level names, signatures and results."""

from __future__ import annotations

from collections.abc import Sequence

from kina.frontend.ast import (
    Expr,
    Function,
    Identifier,
    Let,
    ParameterExpr,
    Program,
    Reverse,
    TupleExpr,
)
from kina.frontend.check_dims import bound_symbols
from kina.frontend.check_expressions import ExpressionChecker
from kina.frontend.check_types import resolve_type
from kina.frontend.context import Context, Known
from kina.frontend.discrete import ContestPaths
from kina.frontend.meaning import WRONG, Meaning, Scope, flatten, type_of
from kina.frontend.report import Report
from kina.frontend.reverse import ReverseChecker
from kina.frontend.source import Extent
from kina.frontend.steps import run
from kina.frontend.typed import TypedFunction, TypedProgram, Value
from kina.types import Parameter, Signature, SizeParameter, TensorType, TupleType, Type, is_private


def typecheck(
    files: Sequence[Program], imports: Sequence[Sequence[int]], report: Report
) -> TypedProgram:
    """The typed program; the functions with errors, which go to `report`, are left out.

    Each file comes after those that it imports; the last is the program's own.
    """
    functions: list[TypedFunction] = []
    public: list[dict[str, Known]] = []
    names: dict[str, Identifier] = {}
    for file, imported in zip(files, imports, strict=True):
        visible = {name: known for number in imported for name, known in public[number].items()}
        checker = _ProgramChecker(file, report, visible, names)
        checker.check(functions)
        public.append(checker.public)
        if file is files[-1]:
            checker.check_exports()
    own = frozenset(item.name.name for item in files[-1].items)
    return TypedProgram(report.source, tuple(functions), report.warnings(), own=own)


class _ProgramChecker:
    """Checks one file; `names` are those of the functions of all files so far."""

    def __init__(
        self,
        program: Program,
        report: Report,
        visible: dict[str, Known],
        names: dict[str, Identifier],
    ) -> None:
        self._program = program
        self._report = report
        self._known = visible
        self._names = names
        self._later = {item.name.name: item.name for item in reversed(program.items)}

    @property
    def public(self) -> dict[str, Known]:
        """The functions that files see which import this one."""
        own = {item.name.name for item in self._program.items}
        return {n: k for n, k in self._known.items() if n in own and not is_private(n)}

    def check(self, functions: list[TypedFunction]) -> None:
        """Add the functions of the file."""
        paths = ContestPaths(functions)
        for item in self._program.items:
            before = self._names.setdefault(item.name.name, item.name)
            if before is not item.name:
                note = self._report.note("the first one", before.extent)
                message = f"a function `{item.name.name}` exists already"
                self._report.error(message, item.name.extent, [note])
            function = (
                self._reverse(item, paths) if isinstance(item, Reverse) else self._function(item)
            )
            if function is not None:
                functions.append(function)

    def check_exports(self) -> None:
        """Report a program of which nothing can be called."""
        names = [item.name for item in self._program.items]
        if all(is_private(name.name) for name in names):
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
        symbols = bound_symbols(node, self._report)
        result = self._result_type(node, symbols)
        signature = None
        if result is not None and all(type_ is not None for type_ in types):
            known_types = [type_ for type_ in types if type_ is not None]
            sizes = tuple(SizeParameter(size.name.name, size.position) for size in node.sizes)
            parameters = _parameters(node.parameters, known_types)
            signature = Signature(node.name.name, parameters, result, sizes)
        function = self._body(node, types, symbols, result, signature)
        extents = tuple(parameter.name.extent for parameter in node.parameters)
        self._bind(Known(node.name, signature, extents))
        return function

    def _parameter_types(self, node: Function) -> list[TensorType | None]:
        declared: dict[str, Extent] = {}
        for name in node.names:
            if name.name in declared:
                note = self._report.note("the first one", declared[name.name])
                message = f"parameter `{name.name}` is declared twice"
                self._report.error(message, name.extent, [note])
            declared.setdefault(name.name, name.extent)
        return [resolve_type(parameter.type, None, self._report) for parameter in node.parameters]

    def _result_type(self, node: Function, symbols: tuple[str, ...]) -> Type | None:
        found = [resolve_type(type_, symbols, self._report) for type_ in node.results]
        types = tuple(type_ for type_ in found if type_ is not None)
        if len(types) < len(found):
            return None
        return types[0] if len(types) == 1 else TupleType(types)

    def _body(
        self,
        node: Function,
        types: list[TensorType | None],
        symbols: tuple[str, ...],
        result: Type | None,
        signature: Signature | None,
    ) -> TypedFunction | None:
        scope = Scope(self._report)
        parameters: list[Value] = []
        for parameter, type_ in zip(node.parameters, types, strict=True):
            meaning: Meaning = WRONG if type_ is None else Value(type_)
            scope.bind(parameter.name.name, meaning, parameter.name.extent)
            parameters += flatten(meaning)
        context = Context(self._report, symbols, self._known, self._later, scope)
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
            tuple(parameter.name.extent for parameter in node.parameters),
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
        self._report.error(message, at, [note])


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


def _parameters(
    nodes: Sequence[ParameterExpr], types: Sequence[TensorType]
) -> tuple[Parameter, ...]:
    pairs = zip(nodes, types, strict=True)
    return tuple(Parameter(node.name.name, type_) for node, type_ in pairs)
