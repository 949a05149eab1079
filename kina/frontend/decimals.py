"""Exact numbers as people write them, and what rounding took from them."""

from __future__ import annotations

from decimal import Context, Decimal, Inexact
from fractions import Fraction
from math import frexp

MAX_QUOTED = 40
"""A message quotes a number of at most so many digits in full."""
_CUT_DIGITS = 17
"""Of a longer or endless one it shows so many: enough for every double."""
_EXACT_DIGITS = 10_000
"""More than any number has that the source can spell and that ends in decimal."""
_PLAIN_LENGTH = 15
"""Two decimals of at most so many characters are never the same double."""


def shown(value: Fraction) -> str:
    """`value` in decimal, in full where that is short."""
    exact = _decimal(value, MAX_QUOTED)
    if exact is None:
        return f"{_quotient(value, Context(_CUT_DIGITS)).normalize():g}"
    is_short_integer = value.denominator == 1 and exact.adjusted() < MAX_QUOTED
    return f"{exact:f}" if is_short_integer else f"{exact:g}"


def quoted(digits: str) -> str:
    """Digits as written, or the first of them and how many there are."""
    if len(digits) <= MAX_QUOTED:
        return digits
    return f"{digits[:_CUT_DIGITS]}… ({len(digits)} digits)"


def is_rounder(exact: Fraction, rounded: float) -> bool:
    """Whether rounding made a number visibly another, rounder one.

    That is: an integer of what was none or a power of two of what was none, and to as many
    significant digits as the number has, the two differ.
    """
    if not _may_be_rounder(rounded):
        return False
    if rounded.as_integer_ratio() == (exact.numerator, exact.denominator):
        return False
    value = Fraction(rounded)
    becomes_integer = value.denominator == 1 and exact.denominator != 1
    becomes_power = _is_power(value) and not _is_power(exact)
    if not (becomes_integer or becomes_power):
        return False
    written = _decimal(exact, _EXACT_DIGITS)
    if written is None:
        return True
    return _quotient(value, Context(len(written.as_tuple().digits))) != written


def text_is_rounder(text: str, rounded: float) -> bool:
    """`is_rounder` for a number as written; quick for most, since a literal may have thousands."""
    if not _may_be_rounder(rounded) or (len(text) <= _PLAIN_LENGTH and float(text) == rounded):
        return False
    return is_rounder(Fraction(text), rounded)


def _may_be_rounder(rounded: float) -> bool:
    """Whether a double is an integer or a power of two: most are neither."""
    return rounded.is_integer() or abs(frexp(rounded)[0]) == 0.5


def _is_power(value: Fraction) -> bool:
    """Whether the magnitude is a power of two."""
    top, bottom = abs(value.numerator), value.denominator
    return top & (top - 1) == 0 and bottom & (bottom - 1) == 0


def _decimal(value: Fraction, digits: int) -> Decimal | None:
    """`value` without trailing zeros; None if it has more significant digits."""
    context = Context(digits)
    found = _quotient(value, context)
    return None if context.flags[Inexact] else found.normalize(Context(digits))


def _quotient(value: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))
