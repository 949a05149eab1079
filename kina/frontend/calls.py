"""Calls: of operations, and of top-level functions.

A function wins over an operation of the same name from its own binding on; a variable never stands
in a call position, so a variable may be called `log`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kina.frontend.arguments import Bound, Shape, bind_arguments, called_in_messages, misspelt
from kina.frontend.ast import ArgumentValue, Call, Dims, Expr, Items, Name
from kina.frontend.check_dims import dim_expression, resolve_dim
from kina.frontend.check_folds import FOLD, FoldChecker
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
from kina.frontend.operations import Operand, OperationChecker
from kina.frontend.records import KnownRecord
from kina.frontend.steps import Step, Steps
from kina.frontend.typed import CallFunction, Value
from kina.ops import OPS, REDUCTIONS, Op
from kina.rules.calls import bind, substitute
from kina.rules.parts import Blame, RuleError
from kina.types import (
    Declared,
    Dim,
    RecordParameter,
    RecordType,
    Signature,
    leaves,
    map_tensors,
)
from kina.types import flatten as flat_types

_POSITIONAL_ATTRIBUTES = ("dims", "dtype", "axes")


class CallChecker:
    """Checks calls; `check` gives the meaning of an argument."""

    def __init__(
        self,
        context: Context,
        operations: OperationChecker,
        check: Callable[[Expr], Step[Meaning]],
    ) -> None:
        self._context = context
        self._report = context.report
        self._operations = operations
        self._check = check
        self._folds = FoldChecker(context, check)

    def call(self, node: Call) -> Steps[Meaning]:
        """The meaning of any call."""
        known = self._context.known.get(node.callee.name)
        if known is not None:
            return self._function(node, known)
        record = self._context.records.find(node.callee.name)
        if record is not None:
            return self._record(node, record)
        if node.callee.name in OPS:
            return self._operation(node)
        if node.callee.name == FOLD:
            return self._folds.fold(node)
        return self._unknown(node)

    def _unknown(self, node: Call) -> Steps[Meaning]:
        self._report_unknown(node)
        yield self._rest(node)
        return WRONG

    def _rest(self, node: Call) -> Steps[None]:
        """Checks the arguments of a call that cannot be checked itself."""
        for position, argument in enumerate(node.arguments):
            value = argument.value
            # A bare name past the first argument may be a word: a dtype, a reduction.
            is_word = position > 0 and (isinstance(value, Name) or misspelt(value) is not None)
            if argument.name is None and not is_word and not isinstance(value, Dims | Items):
                yield self._check(value)

    def _report_unknown(self, node: Call) -> None:
        name, extent = node.callee.name, node.callee.extent
        later = self._context.later.get(name)
        variable = self._context.scope.find(name)
        if later is not None:
            note = self._report.note("it is bound here", later.extent)
            help_ = "a function may call only functions bound before it: there is no recursion"
            self._report.error(f"`{name}` is called before its binding", extent, [note], help_)
        elif variable is not None:
            note = self._report.note("it is bound here", variable.extent)
            self._report.error(f"`{name}` is a variable, expected a function", extent, [note])
        elif name in REDUCTIONS:
            help_ = f"a reduction is written .reduce(op={name}, axis=…)"
            self._report.error(f"unknown function `{name}`", extent, help=help_)
        else:
            records = self._context.records.names()
            help_ = self._report.suggest(name, OPS, (FOLD,), self._context.known, records)
            self._report.error(f"unknown function `{name}`", extent, help=help_)

    def _operation(self, node: Call) -> Steps[Meaning]:
        op = OPS[node.callee.name]
        roles = _roles(op, node)
        positional = tuple(name for name in op.attributes if name in _POSITIONAL_ATTRIBUTES)
        named = tuple(name for name in op.attributes if name not in _POSITIONAL_ATTRIBUTES)
        by_position = tuple(role for role in roles if role not in op.named)
        bound = bind_arguments(
            node, Shape(by_position + positional, op.named + named), self._report
        )
        if bound is None:
            yield self._rest(node)
            return WRONG
        operands: list[Operand] | None = yield self._operands(op.name, roles, bound)
        attributes = self._operations.attributes(op.name, bound)
        if operands is None or attributes is None:
            return WRONG
        return self._operations.apply(op.name, node.callee.extent, operands, *attributes)

    def _operands(
        self, callee: str, names: tuple[str, ...], bound: Bound
    ) -> Steps[list[Operand] | None]:
        """The meaning of each operand, in the order in which they are written."""
        found: dict[str, Operand] = {}
        for name, node in bound.items():
            if name not in names:
                continue
            if isinstance(node, Dims | Items):
                what = "a list of dimensions" if isinstance(node, Dims) else "a list"
                message = f"{callee}: {name} is {what}, expected a tensor"
                self._report.error(message, node.extent)
                continue
            meaning: Meaning = yield self._check(node)
            found[name] = meaning, node
        return [found[name] for name in names] if len(found) == len(names) else None

    def _function(self, node: Call, known: Known) -> Steps[Meaning]:
        signature = known.signature
        if signature is None:
            yield self._rest(node)
            return WRONG
        names = tuple(declared.name for declared in signature.declared)
        shape = Shape(tuple(signature.names), defined=(signature, known.name.extent))
        bound = bind_arguments(node, shape, self._report)
        if bound is None:
            yield self._rest(node)
            return WRONG
        operands: list[Operand] | None = yield self._operands(signature.name, names, bound)
        sizes = self._sizes(signature, bound)
        tensors = None
        if operands is not None:
            tensors = self._tensors(signature.name, signature.declared, operands)
        if operands is None or tensors is None or sizes is None:
            return WRONG
        return self._apply(node, known, signature, tensors, sizes, operands)

    def _sizes(self, signature: Signature, bound: Bound) -> tuple[Dim, ...] | None:
        """The arguments that are sizes; None after reporting what is wrong with them."""
        found: list[Dim] = []
        for parameter in signature.sizes:
            argument = bound[parameter.name]
            written = dim_expression(argument)
            if written is None or self._is_tensor(argument):
                self._report.error(
                    f"{signature.name}: `{parameter.name}` is a size, expected for example "
                    "4, `N` or `T + 1`",
                    argument.extent,
                )
                continue
            size = resolve_dim(written, self._context.symbols, self._report)
            found += [] if size is None else [size]
        return tuple(found) if len(found) == len(signature.sizes) else None

    def _is_tensor(self, node: ArgumentValue) -> bool:
        """Whether an argument is a variable, and no symbol."""
        if not isinstance(node, Name) or node.name in self._context.symbols:
            return False
        return self._context.scope.find(node.name) is not None

    def _record(self, node: Call, known: KnownRecord) -> Steps[Meaning]:
        """`Name(field=value, …)`: its symbols are its own, each bound to one dimension here."""
        record = known.type
        if record is None:
            yield self._rest(node)
            return WRONG
        shape = Shape((), record.names, defined=(record.definition(), known.name.extent))
        bound = bind_arguments(node, shape, self._report)
        if bound is None:
            yield self._rest(node)
            return WRONG
        operands: list[Operand] | None = yield self._operands(record.name, record.names, bound)
        if operands is None or not self._is_record(known, record, operands):
            return WRONG
        meanings = [meaning for meaning, _ in operands]
        fields = dict(zip(record.names, meanings, strict=True))
        return RecordValue(record.name, fields, record.defined.fields)

    def _is_record(self, known: KnownRecord, record: RecordType, operands: list[Operand]) -> bool:
        """Whether the operands are what the record's fields take, after reporting why not."""
        tensors = self._tensors(record.name, record.fields, operands)
        if tensors is None:
            return False
        fields = [leaf for field in record.fields for leaf in leaves(field)]
        called = [f"field `{leaf.name}`" for leaf in fields]
        types = [tensor.type for tensor in tensors]
        try:
            bind(record.name, [leaf.type for leaf in fields], types, called=called)
        except RuleError as error:
            position = _owner(record.fields, error.blame)
            field = record.fields[position]
            at = known.fields[field.name].name.extent
            note = self._report.note(f"`{field.name}` has type {field.type}", at)
            self._report.error(error.message, operands[position][1].extent, [note], error.help)
            return False
        return True

    def _tensors(
        self, callee: str, declared: Sequence[Declared], operands: list[Operand]
    ) -> list[Value] | None:
        """The operands' tensors one by one; None after reporting what is of another kind."""
        tensors: list[Value] = []
        whole = True
        for wanted, operand in zip(declared, operands, strict=True):
            found = self._flat(callee, wanted, *operand)
            whole = whole and found is not None
            tensors += found or ()
        return tensors if whole else None

    def _flat(
        self, callee: str, wanted: Declared, meaning: Meaning, node: Expr
    ) -> tuple[Value, ...] | None:
        kind = wanted.type.name if isinstance(wanted, RecordParameter) else None
        if isinstance(meaning, RecordValue):
            if meaning.record == kind:
                return flatten(meaning) if type_of(meaning) is not None else None
            came = f"a record {meaning.record}"
        elif isinstance(meaning, Value):
            if kind is None:
                return (meaning,)
            came = "a tensor"
        elif isinstance(meaning, TupleValue):
            came = "a tuple"
        else:
            self._context.no_number(meaning, node)
            return None
        expected = f"a record {kind}" if kind else "a tensor"
        message = f"{callee}: `{wanted.name}` is {came}, expected {expected}"
        self._report.error(message, node.extent, help=_kind_help(meaning))
        return None

    def _apply(
        self,
        node: Call,
        known: Known,
        signature: Signature,
        tensors: list[Value],
        sizes: tuple[Dim, ...],
        operands: list[Operand],
    ) -> Meaning:
        parameters = [parameter.type for parameter in signature.parameters]
        types = [tensor.type for tensor in tensors]
        given = {size.name: dim for size, dim in zip(signature.sizes, sizes, strict=True)}
        called = called_in_messages(signature.declared)
        try:
            binding = bind(signature.name, parameters, types, given, called)
            result = map_tensors(signature.result, lambda type_: substitute(type_, binding))
        except RuleError as error:
            self._report_argument(error, node, known, signature, operands)
            return WRONG
        results = tuple(Value(type_) for type_ in flat_types(result))
        self._context.body.append(
            CallFunction(signature.name, tuple(tensors), sizes, results, node.callee.extent)
        )
        return build(result, iter(results))

    def _report_argument(
        self,
        error: RuleError,
        node: Call,
        known: Known,
        signature: Signature,
        operands: list[Operand],
    ) -> None:
        if not isinstance(error.blame, int):
            note = self._report.note(f"{signature} is defined here", known.name.extent)
            self._report.error(f"{signature.name}: {error.message}", node.callee.extent, [note])
            return
        position = _owner(signature.declared, error.blame)
        argument = operands[position][1]
        parameter = signature.parameters[error.blame]
        message = f"parameter `{parameter.name}` has type {parameter.type}"
        notes = [self._report.note(message, known.parameters[position])]
        notes += self._context.scope.declared(argument)
        self._report.error(error.message, argument.extent, notes, error.help)


def _roles(op: Op, node: Call) -> tuple[str, ...]:
    """The names of the operands; a list of tensors has as many as are given, at least one."""
    if not op.variadic:
        return op.operands
    given = sum(argument.name is None for argument in node.arguments)
    return tuple(op.role(position) for position in range(max(given, 1)))


def _owner(declared: Sequence[Declared], blame: Blame) -> int:
    """Which parameter or field the tensor at `blame` belongs to."""
    assert isinstance(blame, int)
    owners = [i for i, wanted in enumerate(declared) for _ in leaves(wanted)]
    return owners[blame]


def _kind_help(meaning: Meaning) -> str | None:
    if isinstance(meaning, TupleValue):
        return "take it apart: let (a, b) = … in"
    if isinstance(meaning, RecordValue):
        return f"name a field of it, such as .{next(iter(meaning.fields))}"
    return None
