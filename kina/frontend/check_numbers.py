"""Numbers beside tensors: each becomes a tensor of the dtype and the shape beside it."""

from __future__ import annotations

from fractions import Fraction

from kina.dtypes import F32, I64, DType
from kina.frontend.ast import Expr
from kina.frontend.context import Context
from kina.frontend.decimals import is_rounder, shown
from kina.frontend.exact import Number, NumberError, Scalar, convert
from kina.frontend.numbers import AnyNumber, Computed, NonFinite, SizeNumber
from kina.frontend.source import Extent
from kina.frontend.typed import Value
from kina.types import TensorType


class NumberChecker:
    """Emits numbers of one function."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._report = context.report
        self._of_rank_0: tuple[TensorType, TensorType] | None = None
        """A type and that of its elements; the next number mostly has the same."""

    def tensor(self, number: AnyNumber, type_: TensorType, node: Expr) -> Value:
        """A number in every element; a NumberError where the dtype does not have it."""
        scalar = self._scalar(number, self._element(type_), node.extent, {})
        return self._spread(scalar, type_, node.extent)

    def _element(self, type_: TensorType) -> TensorType:
        if self._of_rank_0 is None or self._of_rank_0[0] is not type_:
            self._of_rank_0 = type_, type_.with_dims(())
        return self._of_rank_0[1]

    def splat(self, value: Scalar, type_: TensorType, at: Extent) -> Value:
        """One value in every element: a rank-0 constant, broadcast."""
        scalar = self._context.constant((value,), type_.with_dims(()), at)
        return self._spread(scalar, type_, at)

    def warn_rounder(self, number: Number, value: float, dtype: DType, at: Extent) -> None:
        """Warns of a number that rounding made visibly another one."""
        if not is_rounder(number.value, value):
            return
        nearest = shown(Fraction(value))
        wider = "" if dtype.bits == 32 else "; or compute in F32: .cast(F32)"
        self._report.warn(
            f"{number} becomes {nearest} in {dtype}", at, f"write {nearest} if that is meant{wider}"
        )

    def _spread(self, scalar: Value, type_: TensorType, at: Extent) -> Value:
        if not type_.dims:
            return scalar
        return self._context.emit("broadcast", [scalar], {"dims": type_.dims}, type_, at)

    def _scalar(
        self, number: AnyNumber, type_: TensorType, at: Extent, known: dict[int, Value]
    ) -> Value:
        """A number of a type of rank 0; `known` are those of F32 that have been computed."""
        match number:
            case Number():
                value = convert(number, type_.dtype)
                if isinstance(value, float):
                    self.warn_rounder(number, value, type_.dtype, at)
                return self._context.constant((value,), type_, at)
            case NonFinite():
                return self._context.constant((number.in_dtype(type_.dtype),), type_, at)
            case SizeNumber():
                number.check(type_.dtype)
                return self._cast(self._context.size(number.dim, type_, at), type_, at)
            case Computed():
                return self._cast(self._computed(number, type_, known), type_, at)

    def _computed(self, number: Computed, type_: TensorType, known: dict[int, Value]) -> Value:
        if not type_.dtype.is_float:
            raise NumberError(
                f"{number} is no value of {type_.dtype}: it is computed in F32",
                f"compute in F32: .cast(F32), or write (…).cast({type_.dtype}) of rank 0",
            )
        found = known.get(id(number))
        if found is not None:
            return found
        wide = TensorType(F32, (), type_.placement)
        operands = [self._scalar(each, wide, number.extent, known) for each in number.operands]
        known[id(number)] = self._context.emit(number.op, operands, {}, wide, number.extent)
        return known[id(number)]

    def _cast(self, value: Value, type_: TensorType, at: Extent) -> Value:
        if value.type.dtype is type_.dtype:
            return value
        return self._context.emit("cast", [value], {"dtype": type_.dtype}, type_, at)


I64_SCALAR = TensorType(I64, ())
"""What a position along an axis is."""
