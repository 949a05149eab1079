"""Operations: their operands and compile-time arguments, checked by the shared type rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import is_

from kina.dtypes import F32, DType
from kina.errors import Note
from kina.frontend.arguments import Bound
from kina.frontend.ast import ArgumentValue, Dims, Expr, Identifier, Name, Negate, NumberExpr, Size
from kina.frontend.check_dims import dim_expression, resolve_dim
from kina.frontend.check_numbers import I64_SCALAR, NumberChecker
from kina.frontend.check_types import resolve_dims, resolve_dtype, too_large
from kina.frontend.context import Context
from kina.frontend.exact import Number, NumberError, convert, read_number
from kina.frontend.meaning import WRONG, Meaning, RecordValue, TupleValue
from kina.frontend.numbers import AnyNumber, SizeNumber, applied
from kina.frontend.source import Extent
from kina.frontend.typed import Take, Value
from kina.ops import BINARY_SYMBOLS, OPS, REDUCTIONS, Family
from kina.rules.infer import infer
from kina.rules.layout import check_start
from kina.rules.parts import Attribute, RuleError, axis_of, one_of
from kina.types import Dim, TensorType

Operand = tuple[Meaning, Expr]

_MOST_DIGITS = 19
"""Of an axis; more is past 64 bits."""


def _positive(node: ArgumentValue) -> Number:
    """A number above 0; a NumberError, if it is none."""
    number = read_number(node.text) if isinstance(node, NumberExpr) else None
    if number is None or number.value == 0:
        found = "0" if number is not None else "not a positive number"
        raise NumberError(f"eps is {found}, expected a number above 0 such as eps=1e-5")
    return number


class OperationChecker:
    """Checks operations and emits them."""

    def __init__(self, context: Context, numbers: NumberChecker) -> None:
        self._context = context
        self._numbers = numbers
        self._report = context.report
        self._last: tuple[str, Sequence[TensorType], TensorType] | None = None
        """What was inferred last without attributes: sums are long, and of one type."""

    def apply(
        self,
        op: str,
        at: Extent,
        operands: Sequence[Operand],
        attributes: dict[str, Attribute] | None = None,
        blame: dict[str, Extent] | None = None,
    ) -> Meaning:
        """Applies `op`; `at` is its own token, `blame` the places of its compile-time arguments."""
        tensors = [meaning for meaning, _ in operands if isinstance(meaning, Value)]
        if len(tensors) < len(operands) or not operands:
            number = None if tensors else self._of_numbers(op, at, operands, attributes or {})
            if number is not None:
                return number
            beside = self._beside(op, operands)
            if beside is None:
                return WRONG
            tensors = beside
        try:
            types = [t.type for t in tensors]
            type_ = self._infer(op, types, attributes or {})
            if OPS[op].named:
                self._check_positions(op, types, attributes or {}, operands)
        except RuleError as error:
            self._report_rule(error, op, at, operands, blame or {})
            return WRONG
        values = self._with_constants(tensors, operands)
        if values is None:
            return WRONG
        if type_ not in types and too_large(type_):
            self._report.error(f"{op}: the result {type_} takes more than 2^60 - 1 bytes", at)
            return WRONG
        result = self._context.emit(op, values, attributes or {}, type_, at)
        if OPS[op].family is not Family.SELECTION:
            return result
        best = Value(values[0].type.with_dims(type_.dims))
        axis = axis_of(attributes or {})
        self._context.body.append(Take(values[0], result, axis, best, at))
        return TupleValue((best, result))

    def _of_numbers(
        self, op: str, at: Extent, operands: Sequence[Operand], attributes: dict[str, Attribute]
    ) -> Meaning | None:
        """What an operation makes of numbers alone; None if it has a tensor, or needs one."""
        numbers = [meaning for meaning, _ in operands if isinstance(meaning, AnyNumber)]
        if not operands or len(numbers) < len(operands):
            return None
        node = operands[0][1]
        try:
            if op != "cast":
                return applied(op, numbers, at)
            dtype = attributes["dtype"]
            assert isinstance(dtype, DType)
            return self._numbers.tensor(numbers[0], TensorType(dtype, ()), node)
        except NumberError as error:
            self._report.error(str(error), node.extent, help=error.help)
            return WRONG

    def operator(self, symbol: str, at: Extent, operands: Sequence[Operand]) -> Meaning:
        """Applies the operation that an operator between two operands stands for."""
        op = OPS[BINARY_SYMBOLS[symbol]]
        for position, (meaning, node) in enumerate(operands):
            if not isinstance(meaning, Value) or meaning.type.dtype.name in op.symbol_dtypes:
                continue
            if meaning.type.dtype.name not in op.dtypes:
                continue
            message = (
                f"`{symbol}`: {op.operands[position]} has dtype {meaning.type.dtype}, "
                f"expected {one_of(op.symbol_dtypes)}"
            )
            help_ = f"x.{op.name}(y) divides integers, toward zero; or cast to a float first"
            self._report.error(message, node.extent, self._context.scope.declared(node), help_)
            return WRONG
        return self.apply(op.name, at, operands)

    def _infer(
        self, op: str, types: Sequence[TensorType], attributes: Mapping[str, Attribute]
    ) -> TensorType:
        """The type of a result; a `RuleError` if there is none."""
        if attributes:
            return infer(op, types, attributes)
        if self._last is not None:
            last, known, type_ = self._last
            if last == op and len(known) == len(types) and all(map(is_, known, types)):
                return type_
        type_ = infer(op, types, attributes)
        self._last = op, types, type_
        return type_

    def _beside(self, op: str, operands: Sequence[Operand]) -> list[Value] | None:
        """The operands as tensors, a number as the tensor beside it; None if one is wrong."""
        alike = OPS[op].alike
        same = [operands[position][0] for position in alike]
        beside = next((meaning for meaning in same if isinstance(meaning, Value)), None)
        quiet = False
        tensors: list[Value] = []
        for position, (meaning, node) in enumerate(operands):
            if isinstance(meaning, AnyNumber) and position in alike and beside:
                tensors.append(beside)
            elif isinstance(meaning, AnyNumber) and self._is_position(op, position):
                tensors.append(Value(I64_SCALAR))
            elif isinstance(meaning, Value):
                tensors.append(meaning)
            else:
                silent = (TupleValue, RecordValue)
                quiet = quiet or any(m is WRONG or isinstance(m, silent) for m, _ in operands)
                dims = next((m.type.dims for m, _ in operands if isinstance(m, Value)), ())
                self._refuse(op, position, (meaning, node), quiet, dims)
                quiet = True
        return tensors if len(tensors) == len(operands) else None

    def _is_position(self, op: str, position: int) -> bool:
        row = OPS[op]
        return not row.variadic and row.operands[position] in row.named

    def _check_positions(
        self,
        op: str,
        types: Sequence[TensorType],
        attributes: Mapping[str, Attribute],
        operands: Sequence[Operand],
    ) -> None:
        """A `RuleError` for a start that is known and puts a window outside of its axis."""
        for position, (meaning, _) in enumerate(operands):
            start = _start(meaning)
            if start is None or not self._is_position(op, position):
                continue
            axis = axis_of(attributes)
            size = attributes.get("size", types[1].dims[axis] if types[1].dims else 1)
            assert isinstance(size, int | str)
            try:
                check_start(op, types[0], axis, size, start)
            except RuleError as error:
                raise RuleError(error.message, position, error.help) from None

    def _refuse(
        self, op: str, position: int, operand: Operand, quiet: bool, dims: Sequence[Dim]
    ) -> None:
        """Reports an operand that is no tensor; `dims` are those of one beside it."""
        meaning, node = operand
        if isinstance(meaning, TupleValue):
            role = OPS[op].role(position)
            message = f"{op}: {role} is a tuple of {len(meaning.items)}, expected a tensor"
            self._report.error(message, node.extent, help="take it apart: let (a, b) = … in")
        elif isinstance(meaning, RecordValue):
            role = OPS[op].role(position)
            message = f"{op}: {role} is a record {meaning.record}, expected a tensor"
            field = next(iter(meaning.fields))
            self._report.error(message, node.extent, help=f"name a field of it, such as .{field}")
        elif not quiet:
            self._context.no_number(meaning, node, dims)

    def _with_constants(
        self, tensors: Sequence[Value], operands: Sequence[Operand]
    ) -> list[Value] | None:
        """The operands again, each number now a constant of its own."""
        values: list[Value] = []
        for tensor, (meaning, node) in zip(tensors, operands, strict=True):
            if not isinstance(meaning, AnyNumber):
                values.append(tensor)
                continue
            try:
                values.append(self._numbers.tensor(meaning, tensor.type, node))
            except NumberError as error:
                notes = self._context.scope.declared(*(node for _, node in operands))
                self._report.error(str(error), node.extent, notes, error.help)
                return None
        return values

    def _report_rule(
        self,
        error: RuleError,
        op: str,
        at: Extent,
        operands: Sequence[Operand],
        blame: dict[str, Extent],
    ) -> None:
        place = at
        if isinstance(error.blame, int):
            place = operands[error.blame][1].extent
        elif error.blame is not None:
            place = blame.get(error.blame, at)
        # What an argument like an axis has to fit is the first operand.
        concerned = operands[:1] if isinstance(error.blame, str) else operands
        notes: Sequence[Note] = self._context.scope.declared(*(node for _, node in concerned))
        self._report.error(error.message, place, notes, error.help)

    def attributes(
        self, op: str, bound: Bound
    ) -> tuple[dict[str, Attribute], dict[str, Extent]] | None:
        """The compile-time arguments of `op` and their places; None if one is wrong."""
        readers: dict[str, Callable[[str, ArgumentValue], Attribute | None]] = {
            "axis": self._axis,
            "k": self._k,
            "eps": self._eps,
            "op": self._word,
            "dtype": self._dtype,
            "dims": self._dims,
            "axes": self._axes,
            "size": self._size,
        }
        found: dict[str, Attribute] = {}
        for name in OPS[op].attributes:
            value = readers[name](op, bound[name])
            if value is not None:
                found[name] = value
        places = {name: bound[name].extent for name in OPS[op].attributes}
        return (found, places) if len(found) == len(places) else None

    def _axis(self, op: str, node: ArgumentValue) -> int | None:
        return self._integer(f"{op}: the axis", node, "axis=1")

    def _k(self, op: str, node: ArgumentValue) -> int | None:
        size = f"size={node.name}" if isinstance(node, Name) else "size=…"
        help_ = (
            "k is a number of the program text: take as many as there may be, and the first of "
            f"both results, .slice(axis=…, start=0, {size})"
        )
        return self._integer(f"{op}: k", node, "k=50", help_)

    def _integer(
        self, what: str, node: ArgumentValue, example: str, help: str | None = None
    ) -> int | None:
        """An integer of the program text; the rules say which ones will do."""
        sign, number = 1, node
        while isinstance(number, Negate):
            sign, number = -sign, number.operand
        problem = "is not a compile-time integer"
        if isinstance(number, NumberExpr) and number.text.isdigit():
            if len(number.text) <= _MOST_DIGITS:
                return sign * int(number.text)
            problem = f"has more than {_MOST_DIGITS} digits"
        message = f"{what} {problem}, expected for example {example}"
        self._report.error(message, node.extent, help=help)
        return None

    def _eps(self, op: str, node: ArgumentValue) -> float | None:
        """A positive number, rounded once to F32."""
        try:
            number = _positive(node)
            value = float(convert(number, F32))
        except NumberError as error:
            self._report.error(f"{op}: {error}", node.extent)
            return None
        self._numbers.warn_rounder(number, value, F32, node.extent)
        return value

    def _word(self, op: str, node: ArgumentValue) -> str | None:
        words = list(REDUCTIONS)
        expected = f"expected one of {', '.join(words)}"
        if not isinstance(node, Name):
            self._report.error(f"{op}: {expected} after op=", node.extent)
        elif node.name in words:
            return node.name
        else:
            message = f"{op}: unknown op={node.name}, {expected}"
            self._report.error(message, node.extent, help=self._report.suggest(node.name, words))
        return None

    def _dtype(self, op: str, node: ArgumentValue) -> Attribute | None:
        if isinstance(node, Name):
            return resolve_dtype(Identifier(node.extent, node.name), self._report)
        self._report.error(f"{op}: expected a dtype such as F32", node.extent)
        return None

    def _dims(self, op: str, node: ArgumentValue) -> Attribute | None:
        if isinstance(node, Dims):
            return resolve_dims(node, self._context.symbols, self._report)
        message = f"{op}: expected dimensions in brackets such as [2, 3]"
        self._report.error(message, node.extent)
        return None

    def _axes(self, op: str, node: ArgumentValue) -> Attribute | None:
        """An order of axes; unlike a dimension, 0 is one."""
        if isinstance(node, Dims):
            found = [_small(item.text) for item in node.items if isinstance(item, Size)]
            axes = tuple(axis for axis in found if axis is not None)
            if len(axes) == len(node.items):
                return axes
        message = f"{op}: expected an order of the axes such as [1, 0]"
        self._report.error(message, node.extent)
        return None

    def _size(self, op: str, node: ArgumentValue) -> Attribute | None:
        """A size: a dimension, as in a type."""
        dim = dim_expression(node)
        if dim is not None:
            return resolve_dim(dim, self._context.symbols, self._report)
        message, help_ = f"{op}: the size is not known at compile time", None
        if isinstance(node, Negate):
            message, help_ = f"{op}: the size is below 0", _FROM_THE_END
        self._report.error(f"{message}, expected for example size=4", node.extent, help=help_)
        return None


_FROM_THE_END = "nothing is counted from the end: write how many elements there are, size=T - 1"


def _start(meaning: Meaning) -> Dim | None:
    """Where a window starts, if that is an integer or a size."""
    if isinstance(meaning, SizeNumber):
        return meaning.dim
    if isinstance(meaning, Number) and meaning.value.denominator == 1:
        return meaning.value.numerator
    return None


def _small(digits: str) -> int | None:
    return int(digits) if len(digits) <= _MOST_DIGITS else None
