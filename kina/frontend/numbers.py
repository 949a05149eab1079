"""Numbers that have no dtype yet: they take that of the tensor beside which they stand.

An exact number, an infinity or NaN, a size (an exact integer that is known at run time at the
latest), or what is computed of these and is none of them. Numbers, infinities and sizes stay exact
until a dtype rounds them, once; what is computed is computed in F32.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import copysign, isinf, isnan

from kina.dims import MAX_SIZE, Dim, DimError, add, is_possible, multiply, subtract, terms_of
from kina.dtypes import ANY, FREM, DType
from kina.frontend.exact import Number, NumberError, bounds, combine
from kina.frontend.source import Extent
from kina.frozen import frozen
from kina.ops import BINARY_SYMBOLS, OPS, Family

SPECIAL = ("inf", "nan")
"""Names that are numbers where the program binds none of them."""

MAX_DEPTH = 100
"""How deeply computed numbers may stand in one another."""
_SHOWN_DEPTH = 4
_ARITHMETIC: Mapping[str, Callable[[Dim, Dim], Dim]] = {
    "+": add,
    "-": subtract,
    "*": lambda left, right: multiply([left, right]),
}
_WORDS = {name: symbol for symbol, name in BINARY_SYMBOLS.items() if symbol in "+-*/"}
_COMPUTED = frozenset({Family.UNARY, Family.BINARY, Family.TERNARY})


@frozen(slots=True)
class NonFinite:
    """An infinity or NaN."""

    value: float

    def __str__(self) -> str:
        return str(self.value)

    def in_dtype(self, dtype: DType) -> float:
        """Itself, where the dtype has it."""
        if not dtype.is_float:
            raise NumberError(
                f"{self} is no value of {dtype}: only floating dtypes have it", self._instead(dtype)
            )
        if isinf(self.value) and not dtype.highest.endswith("inf"):
            raise NumberError(f"{dtype} has no infinity", self._instead(dtype))
        return self.value

    def _instead(self, dtype: DType) -> str | None:
        if isnan(self.value) or not (dtype.is_int or dtype.is_float):
            return None
        if self.value > 0:
            return f"its greatest value is {dtype.highest}"
        return f"its least value is {dtype.lowest}"


@frozen(slots=True)
class SizeNumber:
    """A polynomial over sizes, as an exact integer; unlike a dimension it may be negative."""

    dim: str

    def __str__(self) -> str:
        return self.dim

    def check(self, dtype: DType) -> None:
        """A NumberError for a dtype that has no integers, or never this one."""
        if not (dtype.is_int or dtype.is_float):
            raise NumberError(f"the size {self} is no value of {dtype}")
        low, high = bounds(dtype)
        if high is not None and not is_possible(subtract(high, self.dim)):
            raise NumberError(f"{self} is too large for {dtype}: at most {high}")
        if low is not None and not is_possible(subtract(self.dim, low)):
            raise NumberError(f"{self} is too small for {dtype}: at least {low}")


@frozen(slots=True)
class Computed:
    """What an elementwise operation makes of numbers, in F32."""

    op: str
    operands: tuple[AnyNumber, ...]
    extent: Extent
    depth: int

    def __str__(self) -> str:
        shown = _shown(self, _SHOWN_DEPTH)
        return shown[1:-1] if shown.startswith("(") else shown


AnyNumber = Number | NonFinite | SizeNumber | Computed


def special(name: str) -> NonFinite | None:
    """The number that a name is where nothing else is called so."""
    return NonFinite(float(name)) if name in SPECIAL else None


def negated(number: AnyNumber, at: Extent) -> AnyNumber:
    """`-number`."""
    match number:
        case Number():
            return number.negated()
        case NonFinite():
            return NonFinite(-number.value)
        case SizeNumber():
            return _size(subtract(0, number.dim))
        case Computed():
            return computed("neg", [number], at)


def combined(symbol: str, left: AnyNumber, right: AnyNumber, at: Extent) -> AnyNumber:
    """`left symbol right`, exact where it can be; a NumberError says why there is none."""
    if isinstance(left, Number) and isinstance(right, Number):
        return combine(symbol, left, right)
    if symbol not in _WORDS.values():
        combine(symbol, _exact(1), _exact(1))
    if symbol == "/" and isinstance(right, Number) and right.value == 0:
        raise NumberError("division by zero")
    if isinstance(left, Number | NonFinite) and isinstance(right, Number | NonFinite):
        return _of_infinities(symbol, left, right)
    dims = _as_dim(left), _as_dim(right)
    if symbol in _ARITHMETIC and dims[0] is not None and dims[1] is not None:
        try:
            return _size(_ARITHMETIC[symbol](dims[0], dims[1]))
        except DimError as error:
            raise NumberError(str(error)) from error
    return computed(BINARY_SYMBOLS[symbol], [left, right], at)


def applied(op: str, operands: Sequence[AnyNumber], at: Extent) -> AnyNumber | None:
    """What an operation makes of numbers alone; None if it needs a tensor."""
    row = OPS[op]
    if op in _WORDS:
        return combined(_WORDS[op], operands[0], operands[1], at)
    if op == "neg":
        return negated(operands[0], at)
    if row.family not in _COMPUTED or not row.dtypes >= FREM or row.dtypes == ANY:
        return None
    return computed(op, operands, at)


def computed(op: str, operands: Sequence[AnyNumber], at: Extent) -> Computed:
    """A number that is computed in F32."""
    depth = 1 + max(each.depth if isinstance(each, Computed) else 0 for each in operands)
    if depth > MAX_DEPTH:
        raise NumberError(
            f"numbers are computed of one another at most {MAX_DEPTH} times",
            "make it a tensor of rank 0: .cast(F32)",
        )
    return Computed(op, tuple(operands), at, depth)


def _of_infinities(symbol: str, left: Number | NonFinite, right: Number | NonFinite) -> AnyNumber:
    """As IEEE 754 says; of a finite number only the sign counts."""
    one, other = map(_sign, (left, right))
    if symbol == "/":
        result = one / other if isinf(one) != isinf(other) else float("nan")
    else:
        result = {"+": one + other, "-": one - other, "*": one * other}[symbol]
    return NonFinite(result) if result else Number(Fraction(0), copysign(1, result) < 0)


def _sign(number: Number | NonFinite) -> float:
    if isinstance(number, NonFinite):
        return number.value
    return copysign(float(number.value != 0), -1 if number.negative else 1)


def _exact(value: int) -> Number:
    return Number(Fraction(value))


def _size(dim: Dim) -> AnyNumber:
    """A polynomial as a number."""
    if isinstance(dim, int):
        return _exact(dim)
    if any(abs(coefficient) > MAX_SIZE for coefficient in terms_of(dim).values()):
        raise NumberError("a coefficient of a size is at most 2^63 - 1")
    return SizeNumber(dim)


def _as_dim(number: AnyNumber) -> Dim | None:
    """The polynomial that a number is, if it is one."""
    if isinstance(number, SizeNumber):
        return number.dim
    if not isinstance(number, Number) or number.negative_zero:
        return None
    value = number.value
    return value.numerator if value.denominator == 1 and abs(value) <= MAX_SIZE else None


def _shown(number: AnyNumber, depth: int) -> str:
    """A number as it may be written; what is computed of much, in part."""
    if not isinstance(number, Computed):
        shown = str(number)
        return f"({shown})" if " " in shown else shown
    operands = [_shown(each, depth - 1) if depth else "…" for each in number.operands]
    if number.op in _WORDS:
        return f"({operands[0]} {_WORDS[number.op]} {operands[1]})"
    return f"{number.op}({', '.join(operands)})" if number.op != "neg" else f"-{operands[0]}"
