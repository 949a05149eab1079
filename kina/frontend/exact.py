"""Numbers of the source text: exact until a dtype rounds them, once.

`(1 / 3) * x` multiplies by the value of the dtype that is nearest to one third.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from math import frexp, ldexp

from kina.dtypes import DType
from kina.frontend.decimals import shown
from kina.frozen import frozen

MAX_DIGITS = 1000
"""A number with more digits, or a larger exponent, is refused: no dtype reaches that far."""

_LARGEST_SIZE = 2**63

Scalar = int | float | bool
"""A value of a dtype: a float is exactly representable in it."""


class NumberError(Exception):
    """A number that cannot be read, computed or represented; the message says why."""

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.help = help


@frozen(slots=True)
class Number:
    """An exact number; a zero knows its sign, as in IEEE 754."""

    value: Fraction
    negative_zero: bool = False

    def __hash__(self) -> int:
        """By the two integers: a fraction's own hash divides modulo a prime."""
        return hash((self.value.numerator, self.value.denominator))

    @property
    def negative(self) -> bool:
        """Whether its sign is `-`."""
        return self.value < 0 or self.negative_zero

    def negated(self) -> Number:
        """`-self`."""
        return Number(-self.value, self.value == 0 and not self.negative_zero)

    def __str__(self) -> str:
        return shown(self.value)


@lru_cache
def read_number(text: str) -> Number:
    """The value of a number token with an optional sign."""
    mantissa, _, exponent = text.lower().partition("e")
    if len(mantissa) > MAX_DIGITS:
        raise NumberError(f"the number is too long: at most {MAX_DIGITS} digits")
    if len(exponent) > 5 or abs(int(exponent or "0")) > MAX_DIGITS:
        raise NumberError(f"the exponent is too large: at most {MAX_DIGITS}")
    value = Fraction(text)
    return Number(value, value == 0 and text.startswith("-"))


_OPERATORS: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda left, right: left / right,
}


def combine(symbol: str, left: Number, right: Number) -> Number:
    """`left symbol right`, exactly."""
    if symbol not in _OPERATORS:
        raise NumberError(
            f"`{symbol}` between two numbers has no shape", "one side of it is a tensor"
        )
    if symbol == "/" and right.value == 0:
        raise NumberError("division by zero")
    value = _OPERATORS[symbol](left.value, right.value)
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > 8 * MAX_DIGITS:
        raise NumberError("the result has too many digits")
    return Number(value, value == 0 and _zero_sign(symbol, left, right))


def _zero_sign(symbol: str, left: Number, right: Number) -> bool:
    if symbol in "*/":
        return left.negative != right.negative
    both = left, right.negated() if symbol == "-" else right
    return all(term.negative_zero for term in both)


@frozen(slots=True)
class _Format:
    precision: int
    """Bits of the significand, the hidden one included."""
    least: int
    """The exponent of the smallest normal number."""
    largest: float


def _ieee(precision: int, exponent_bits: int) -> _Format:
    bias = (1 << (exponent_bits - 1)) - 1
    return _Format(precision, 1 - bias, (2 - 2.0 ** (1 - precision)) * 2.0**bias)


_FORMATS = {
    "F32": _ieee(24, 8),
    "F16": _ieee(11, 5),
    "BF16": _ieee(8, 8),
    "F8E4M3": _Format(4, -6, 448.0),
    "F8E5M2": _ieee(3, 5),
}


def bounds(dtype: DType) -> tuple[int | None, int | None]:
    """The least and the greatest integer of a dtype; None where every size is between them."""
    if dtype.is_int:
        return (int(dtype.lowest), int(dtype.highest)) if dtype.bits < 64 else (None, None)
    largest = _FORMATS[dtype.name].largest
    return (-int(largest), int(largest)) if largest < _LARGEST_SIZE else (None, None)


@lru_cache
def convert(number: Number, dtype: DType) -> Scalar:
    """`number` as a value of `dtype`: a float rounds to nearest even, an integer must be exact."""
    if dtype.is_float:
        return _to_float(number, dtype)
    if dtype.is_int:
        return _to_int(number, dtype)
    raise NumberError(
        f"{number} is no value of {dtype}", "a condition stands by itself: write `b` or `!b`"
    )


def _to_float(number: Number, dtype: DType) -> float:
    form = _FORMATS[dtype.name]
    magnitude = abs(number.value)
    if magnitude == 0:
        return -0.0 if number.negative_zero else 0.0
    unit = Fraction(2) ** (max(_exponent(magnitude), form.least) - form.precision + 1)
    rounded = round(magnitude / unit) * unit
    if rounded == 0:
        raise _vanishes(number, dtype, form)
    if rounded > form.largest:
        raise NumberError(f"{number} is too large for {dtype}: at most {form.largest:.8g}")
    return -float(rounded) if number.negative else float(rounded)


def _vanishes(number: Number, dtype: DType, form: _Format) -> NumberError:
    power = form.least - form.precision + 1
    smallest = f"{2.0**power:.3g} (2^{power})"
    return NumberError(
        f"{number} rounds to 0 in {dtype}: its smallest number above 0 is {smallest}",
        "write 0 if that is meant" if dtype.bits == 32 else "compute in F32: .cast(F32)",
    )


def _exponent(magnitude: Fraction) -> int:
    """The largest e with 2**e <= magnitude."""
    guess = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    return guess if Fraction(2) ** guess <= magnitude else guess - 1


def _to_int(number: Number, dtype: DType) -> int:
    low, high = int(dtype.lowest), int(dtype.highest)
    if number.value.denominator == 1 and low <= number.value <= high:
        return number.value.numerator
    raise NumberError(
        f"{number} is not representable in {dtype}, expected an integer from {low} to {high}"
    )


def read_value(text: str, dtype: DType) -> Scalar:
    """A value of a tensor literal: a number, `inf`, `nan`, `true` or `false`, maybe with `-`."""
    if text in ("true", "false"):
        return _to_bool(text, dtype)
    if text.removeprefix("-") in ("inf", "nan"):
        return _to_special(text, dtype)
    if not (dtype.is_float or dtype.is_int):
        raise NumberError(f"a value of {dtype} is `true` or `false`, found {text}")
    quick = _quick_float(text, dtype) if dtype.is_float else None
    return convert(read_number(text), dtype) if quick is None else quick


def _to_bool(text: str, dtype: DType) -> bool:
    if dtype.is_float or dtype.is_int:
        raise NumberError(f"`{text}` is not a value of {dtype}, expected a number")
    return text == "true"


def _to_special(text: str, dtype: DType) -> float:
    if not dtype.is_float:
        raise NumberError(f"`{text}` is not a value of {dtype}: only floating dtypes have it")
    if text != "nan" and not dtype.highest.endswith("inf"):
        raise NumberError(f"{dtype} has no infinity: its largest value is {dtype.highest}")
    return float(text)


def _quick_float(text: str, dtype: DType) -> float | None:
    """`text` rounded through a double, or None where only exact arithmetic is sure of the result.

    A long payload is read ten times faster. Rounding twice differs from rounding once only if the
    double lies half-way between two values of `dtype`.
    """
    form = _FORMATS[dtype.name]
    double = float(text)
    if not 2.0**form.least <= abs(double) < form.largest:
        return None
    shift = form.precision - frexp(double)[1]
    scaled = ldexp(double, shift)
    if abs(scaled - int(scaled)) == 0.5:
        return None
    return ldexp(round(scaled), -shift)
