"""Calls: of operations, and of top-level functions.

A function wins over an operation of the same name from its own binding on; a variable never stands
in a call position, so a variable may be called `log`.
"""

from __future__ import annotations

from collections.abc import Callable

from kina.calls import bind, substitute
from kina.frontend.arguments import Bound, Shape, bind_arguments, misspelt
from kina.frontend.ast import Call, Dims, Expr, Name
from kina.frontend.check_dims import dim_expression, resolve_dim
from kina.frontend.context import Context, Known
from kina.frontend.meaning import WRONG, Meaning, TupleValue
from kina.frontend.operations import Operand, OperationChecker
from kina.frontend.steps import Step, Steps
from kina.frontend.typed import CallFunction, Value
from kina.ops import OPS, REDUCTIONS, Op
from kina.rules import RuleError
from kina.types import Dim, Signature, TensorType, Type

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

    def call(self, node: Call) -> Steps[Meaning]:
        """The meaning of any call."""
        known = self._context.known.get(node.callee.name)
        if known is not None:
            return self._function(node, known)
        if node.callee.name in OPS:
            return self._operation(node)
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
            if argument.name is None and not is_word and not isinstance(value, Dims):
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
            help_ = self._report.suggest(name, OPS, self._context.known)
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
            if isinstance(node, Dims):
                message = f"{callee}: {name} is a list of dimensions, expected a tensor"
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
        names = tuple(parameter.name for parameter in signature.parameters)
        shape = Shape(tuple(signature.names), defined=(signature, known.name.extent))
        bound = bind_arguments(node, shape, self._report)
        if bound is None:
            yield self._rest(node)
            return WRONG
        operands: list[Operand] | None = yield self._operands(signature.name, names, bound)
        tensors = None if operands is None else self._tensors(signature, operands)
        sizes = self._sizes(signature, bound)
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

    def _is_tensor(self, node: Expr | Dims) -> bool:
        """Whether an argument is a variable, and no symbol."""
        if not isinstance(node, Name) or node.name in self._context.symbols:
            return False
        return self._context.scope.find(node.name) is not None

    def _tensors(self, signature: Signature, operands: list[Operand]) -> list[Value] | None:
        tensors: list[Value] = []
        for parameter, (meaning, node) in zip(signature.parameters, operands, strict=True):
            if isinstance(meaning, Value):
                tensors.append(meaning)
            elif isinstance(meaning, TupleValue):
                message = f"{signature.name}: `{parameter.name}` is a tuple, expected a tensor"
                help_ = "take it apart: let (a, b) = … in"
                self._report.error(message, node.extent, help=help_)
            else:
                self._context.no_number(meaning, node)
        return tensors if len(tensors) == len(operands) else None

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
        given = {size.name: dim for size, dim in zip(signature.sizes, sizes, strict=True)}
        try:
            arguments = [tensor.type for tensor in tensors]
            binding = bind(signature.name, parameters, arguments, given)
            types = [substitute(result, binding) for result in signature.results]
        except RuleError as error:
            self._report_argument(error, node, known, signature, operands)
            return WRONG
        results = [Value(type_) for type_ in types]
        self._context.body.append(
            CallFunction(signature.name, tuple(tensors), sizes, tuple(results), node.callee.extent)
        )
        return _rebuild(signature.result, results)

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
        argument = operands[error.blame][1]
        parameter = signature.parameters[error.blame]
        message = f"parameter `{parameter.name}` has type {parameter.type}"
        notes = [self._report.note(message, known.parameters[error.blame])]
        notes += self._context.scope.declared(argument)
        self._report.error(error.message, argument.extent, notes, error.help)


def _roles(op: Op, node: Call) -> tuple[str, ...]:
    """The names of the operands; a list of tensors has as many as are given, at least one."""
    if not op.variadic:
        return op.operands
    given = sum(argument.name is None for argument in node.arguments)
    return tuple(op.role(position) for position in range(max(given, 1)))


def _rebuild(type_: Type, results: list[Value]) -> Meaning:
    """The results of a call as its declared result: one tensor or a flat tuple."""
    return results[0] if isinstance(type_, TensorType) else TupleValue(tuple(results))
