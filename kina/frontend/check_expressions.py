"""The type checker's core: what each expression means, and the instructions that compute it.

An erroneous expression means `WRONG`; whatever depends on it stays silent, so that one mistake is
reported once and independent ones show in the same run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kina.errors import counted
from kina.frontend.ast import (
    Binary,
    Binding,
    Call,
    Expr,
    Field,
    Let,
    Literal,
    LiteralValue,
    Name,
    Negate,
    Not,
    NumberExpr,
    TupleExpr,
)
from kina.frontend.calls import CallChecker
from kina.frontend.check_numbers import NumberChecker
from kina.frontend.check_types import resolve_type
from kina.frontend.context import Context
from kina.frontend.decimals import text_is_rounder
from kina.frontend.exact import NumberError, Scalar, read_number, read_value
from kina.frontend.meaning import WRONG, Meaning, RecordValue, TupleValue, Wrong, type_of
from kina.frontend.numbers import AnyNumber, combined
from kina.frontend.operations import OperationChecker
from kina.frontend.source import Extent
from kina.frontend.steps import Step, Steps, is_open
from kina.frontend.typed import Value
from kina.types import TensorType, format_dims


class ExpressionChecker:
    """Checks the expressions of one function; every error goes to the context's report."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._report = context.report
        self._numbers = NumberChecker(context)
        self._operations = OperationChecker(context, self._numbers)
        self._calls = CallChecker(context, self._operations, self.check)
        self._checks: dict[type[Any], Callable[[Any], Step[Meaning]]] = {
            Name: context.read,
            NumberExpr: self._number,
            Binary: self._binary,
            Call: self._calls.call,
            Field: self._field,
            Literal: self._literal,
            Negate: self._negate,
            Not: self._not,
            TupleExpr: self._tuple,
            Let: self._let,
        }

    def check(self, node: Expr) -> Step[Meaning]:
        """The meaning of any expression; a number is allowed."""
        step = self._checks[type(node)](node)
        return step if self._context.observed is None else self._observe(node, step)

    def _observe(self, node: Expr, step: Step[Meaning]) -> Steps[Meaning]:
        meaning: Meaning = yield step
        assert self._context.observed is not None
        self._context.observed[node.extent] = meaning
        return meaning

    def _number(self, node: NumberExpr) -> Meaning:
        try:
            return read_number(node.text)
        except NumberError as error:
            self._report.error(str(error), node.extent)
            return WRONG

    def _negate(self, node: Negate) -> Steps[Meaning]:
        operand: Meaning = yield self.check(node.operand)
        return self._operations.apply("neg", node.operator, [(operand, node.operand)])

    def _not(self, node: Not) -> Steps[Meaning]:
        operand: Meaning = yield self.check(node.operand)
        return self._operations.apply("logical_not", node.operator, [(operand, node.operand)])

    def _binary(self, node: Binary) -> Steps[Meaning]:
        """From the left, as long sums lean: one computation does all of them."""
        leaning = [node]
        while isinstance(left := leaning[-1].left, Binary):
            leaning.append(left)
        meaning: Meaning = yield self.check(left)
        for each in reversed(leaning):
            right = self.check(each.right)
            meaning = self._combined(each, meaning, (yield right) if is_open(right) else right)
            if self._context.observed is not None:
                self._context.observed[each.extent] = meaning
        return meaning

    def _combined(self, node: Binary, left: Meaning, right: Meaning) -> Meaning:
        if isinstance(left, AnyNumber) and isinstance(right, AnyNumber):
            return self._fold(node, left, right)
        operands = [(left, node.left), (right, node.right)]
        return self._operations.operator(node.symbol, node.operator, operands)

    def _fold(self, node: Binary, left: AnyNumber, right: AnyNumber) -> Meaning:
        try:
            return combined(node.symbol, left, right, node.operator)
        except NumberError as error:
            self._report.error(str(error), node.operator, help=error.help)
            return WRONG

    def _field(self, node: Field) -> Steps[Meaning]:
        record: Meaning = yield self.check(node.record)
        return self._context.records.read(node, record)

    def _tuple(self, node: TupleExpr) -> Steps[Meaning]:
        items: list[Meaning] = []
        for item in node.items:
            meaning: Meaning = yield self.check(item)
            items.append(self._context.no_number(meaning, item))
        return TupleValue(tuple(items))

    def _let(self, node: Let) -> Steps[Meaning]:
        scope = self._context.scope
        mark = scope.enter()
        for binding in node.bindings:
            meaning: Meaning = yield self.check(binding.value)
            self._bind(binding, meaning)
        body: Meaning = yield self.check(node.body)
        scope.leave(mark)
        return body

    def _bind(self, binding: Binding, meaning: Meaning) -> None:
        items = self._take_apart(binding, meaning)
        bound: dict[str, Extent] = {}
        for name, item in zip(binding.names, items, strict=True):
            if name.name in bound:
                note = self._report.note("the first one", bound[name.name])
                message = f"the pattern binds `{name.name}` twice"
                self._report.error(message, name.extent, [note])
                item = WRONG
            bound[name.name] = name.extent
            self._context.scope.bind(name.name, item, name.extent)

    def _take_apart(self, binding: Binding, meaning: Meaning) -> Sequence[Meaning]:
        count = len(binding.names)
        if count == 1:
            return [meaning]
        if isinstance(meaning, TupleValue) and len(meaning.items) == count:
            return meaning.items
        meaning = self._context.no_number(meaning, binding.value)
        if meaning is not WRONG:
            self._report_pattern(binding, meaning)
        return [WRONG] * count

    def _report_pattern(self, binding: Binding, meaning: Meaning) -> None:
        count = len(binding.names)
        came = "a record" if isinstance(meaning, RecordValue) else "a tensor"
        if isinstance(meaning, TupleValue):
            came = f"one of {len(meaning.items)}"
        note = self._report.note(f"the value has type {type_of(meaning)}", binding.value.extent)
        message = f"the pattern takes a tuple of {count} apart, found {came}"
        self._report.error(message, binding.pattern, [note])

    def _literal(self, node: Literal) -> Meaning:
        type_ = resolve_type(node.type, self._context.symbols, self._report)
        if type_ is None:
            return WRONG
        values = [self._value(value, type_) for value in node.values]
        known = [value for value in values if not isinstance(value, Wrong)]
        if len(known) < len(values) or not self._count_fits(node, type_):
            return WRONG
        return self._constant(known, type_, node.type.extent)

    def _value(self, value: LiteralValue, type_: TensorType) -> Scalar | Wrong:
        try:
            found = read_value(value.text, type_.dtype)
        except NumberError as error:
            self._report.error(str(error), value.extent, help=error.help)
            return WRONG
        if isinstance(found, float) and text_is_rounder(value.text, found):
            exact = read_number(value.text)
            self._numbers.warn_rounder(exact, found, type_.dtype, value.extent)
        return found

    def _count_fits(self, node: Literal, type_: TensorType) -> bool:
        found = len(node.values)
        if found == 1:
            return True
        if type_.symbols:
            self._report.error(
                f"a literal with symbolic dimensions takes one value for all, found {found}",
                node.values[1].extent,
            )
            return False
        expected = 1
        for dim in type_.dims:
            assert isinstance(dim, int)
            expected *= dim
        if found == expected:
            return True
        wanted = f"{expected}, or one for all" if expected > 1 else "1"
        self._report.error(
            f"{counted(found, 'value')} for shape {format_dims(type_.dims)}, expected {wanted}",
            node.values[min(expected, found - 1)].extent,
        )
        return False

    def _constant(self, values: Sequence[Scalar], type_: TensorType, at: Extent) -> Value:
        # One value for all: the IR would store as many copies as the tensor has elements.
        if len(values) == 1:
            return self._numbers.splat(values[0], type_, at)
        return self._context.constant(tuple(values), type_, at)
