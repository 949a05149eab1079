"""Numbers: exact arithmetic and one rounding, against NumPy and ml_dtypes."""

import random
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from kina.dtypes import DTYPES, FREM
from kina.frontend.decimals import is_rounder, quoted, text_is_rounder
from kina.frontend.exact import Number, NumberError, combine, convert, read_number, read_value

NUMPY_TYPES = {
    "F32": np.float32,
    "F16": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "F8E4M3": ml_dtypes.float8_e4m3fn,
    "F8E5M2": ml_dtypes.float8_e5m2,
}


def nearest(text: str, name: str) -> float:
    """`text` rounded by NumPy; two roundings agree with one unless a double is a tie."""
    with np.errstate(over="ignore"):
        return float(np.float64(text).astype(NUMPY_TYPES[name]))


@pytest.mark.parametrize("name", sorted(FREM))
def test_random_numbers_round_as_numpy_rounds(name: str) -> None:
    seeded = random.Random(0)
    for _ in range(2000):
        text = f"{seeded.uniform(-8, 8):.9f}e{seeded.randint(-10, 4)}"
        expected = nearest(text, name)
        if not np.isfinite(expected):
            with pytest.raises(NumberError, match=f"too large for {name}"):
                read_value(text, DTYPES[name])
            continue
        if expected == 0:
            with pytest.raises(NumberError, match=f"rounds to 0 in {name}"):
                read_value(text, DTYPES[name])
            continue
        for found in (read_value(text, DTYPES[name]), convert(read_number(text), DTYPES[name])):
            assert (found, np.signbit(found)) == (expected, np.signbit(expected)), text


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("16777217", "F32", 16777216.0),
        ("16777219", "F32", 16777220.0),
        # Half-way between two values of F32 as a double, above half-way as written.
        ("1.00000005960464477539062500000000001", "F32", 1 + 2.0**-23),
        ("1.000000059604644775390625", "F32", 1.0),
        ("1.4e-45", "F32", 2.0**-149),
        ("3.4028235e38", "F32", float(np.finfo(np.float32).max)),
        ("3.40282356e38", "F32", float(np.finfo(np.float32).max)),
        ("65519", "F16", 65504.0),
        ("464", "F8E4M3", 448.0),
        ("61439", "F8E5M2", 57344.0),
        ("5.96e-8", "F16", 2.0**-24),
        ("3e-8", "F16", 2.0**-24),
        ("0.00098", "F8E4M3", 2.0**-9),
    ],
)
def test_rounding_at_the_edges(text: str, name: str, expected: float) -> None:
    assert read_value(text, DTYPES[name]) == expected
    assert convert(read_number(text), DTYPES[name]) == expected


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("3.4028236e38", "F32"),
        ("1e999", "F32"),
        ("65520", "F16"),
        ("464.001", "F8E4M3"),
        ("61440", "F8E5M2"),
        ("-1e39", "BF16"),
    ],
)
def test_a_number_beyond_the_largest_is_refused(text: str, name: str) -> None:
    with pytest.raises(NumberError, match=f"is too large for {name}"):
        read_value(text, DTYPES[name])


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("127", "I8", 127),
        ("-128", "I8", -128),
        ("-8", "I4", -8),
        ("2.0", "I32", 2),
        ("1e3", "I64", 1000),
        ("-9223372036854775808", "I64", -(2**63)),
        ("true", "Bool", True),
        ("false", "Bool", False),
    ],
)
def test_values(text: str, name: str, expected: int | bool) -> None:
    found = read_value(text, DTYPES[name])
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("128", "I8", "128 is not representable in I8, expected an integer from -128 to 127"),
        ("8", "I4", "8 is not representable in I4, expected an integer from -8 to 7"),
        ("2.5", "I32", "2.5 is not representable in I32"),
        ("9223372036854775808", "I64", "is not representable in I64"),
        ("inf", "I32", "`inf` is not a value of I32: only floating dtypes have it"),
        ("nan", "Bool", "`nan` is not a value of Bool"),
        ("-inf", "F8E4M3", "F8E4M3 has no infinity: its largest value is 448"),
        ("true", "F32", "`true` is not a value of F32, expected a number"),
        ("1", "Bool", "a value of Bool is `true` or `false`, found 1"),
        ("9" * 1001, "F32", "the number is too long: at most 1000 digits"),
        ("1e1001", "F32", "the exponent is too large: at most 1000"),
        ("1e12345678901234567890", "I32", "the exponent is too large"),
    ],
)
def test_no_value(text: str, name: str, message: str) -> None:
    with pytest.raises(NumberError) as caught:
        read_value(text, DTYPES[name])
    assert message in str(caught.value)


def test_special_values() -> None:
    assert read_value("-inf", DTYPES["F32"]) == -np.inf
    assert np.isnan(read_value("nan", DTYPES["F8E4M3"]))
    assert np.signbit(read_value("-0.0", DTYPES["F32"]))


@pytest.mark.parametrize(
    ("text", "name", "smallest"),
    [
        ("1e-8", "F16", "5.96e-08 (2^-24)"),
        ("-1e-46", "F32", "1.4e-45 (2^-149)"),
        ("1e-1000", "F32", "1.4e-45 (2^-149)"),
        ("4.5e-41", "BF16", "9.18e-41 (2^-133)"),
        ("0.0009765625", "F8E4M3", "0.00195 (2^-9)"),
        ("0.0000076", "F8E5M2", "1.53e-05 (2^-16)"),
    ],
)
def test_a_number_that_rounds_to_zero_is_refused(text: str, name: str, smallest: str) -> None:
    """The number that the message names neither rounds to zero nor becomes a rounder one."""
    with pytest.raises(NumberError) as caught:
        read_value(text, DTYPES[name])
    message = f"{text} rounds to 0 in {name}: its smallest number above 0 is {smallest}"
    assert str(caught.value) == message
    named, _, power = smallest.removesuffix(")").partition(" (2^")
    found = read_value(named, DTYPES[name])
    assert found == 2.0 ** int(power)
    assert not text_is_rounder(named, float(found))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("0.999", "BF16"),
        ("-0.999", "BF16"),
        ("1.1", "F8E5M2"),
        ("0.99", "F8E4M3"),
        ("257", "BF16"),
        ("16777217", "F32"),
        ("1.00000001", "F32"),
        ("0.4999999999", "F32"),
        ("0.1249", "BF16"),
        ("4e-8", "F16"),
        ("2.00000000000000000001", "F32"),
    ],
)
def test_a_number_that_becomes_a_rounder_one(text: str, name: str) -> None:
    value = read_value(text, DTYPES[name])
    assert text_is_rounder(text, float(value))
    assert is_rounder(Fraction(text), float(value))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("0.1", "F32"),
        ("0.001", "BF16"),
        ("3.14159265358979", "BF16"),
        ("50257", "BF16"),
        ("1.5", "F8E5M2"),
        ("1.1920929e-07", "F32"),
        ("1.17549435e-38", "F32"),
        ("1.70141183e38", "F32"),
        ("0.001", "F8E5M2"),
        ("3.4028235e38", "F32"),
        ("0.0", "F16"),
        ("1e0", "F16"),
        ("0.00048828125", "F16"),
    ],
)
def test_a_number_that_only_rounds(text: str, name: str) -> None:
    value = read_value(text, DTYPES[name])
    assert not text_is_rounder(text, float(value))
    assert not is_rounder(Fraction(text), float(value))


def test_a_computed_number_may_become_a_rounder_one() -> None:
    almost = combine("-", read_number("1"), combine("/", read_number("1"), read_number("3000")))
    assert is_rounder(almost.value, float(convert(almost, DTYPES["BF16"])))
    third = combine("/", read_number("1"), read_number("3"))
    assert not is_rounder(third.value, float(convert(third, DTYPES["BF16"])))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1e-8", "1e-8"),
        ("0.999", "0.999"),
        ("1000000", "1000000"),
        ("12345678901234567890123456", "12345678901234567890123456"),
        ("1e400", "1e+400"),
        ("-0.5", "-0.5"),
        ("65504.50", "65504.5"),
        ("0", "0"),
    ],
)
def test_a_message_shows_a_number_in_full(text: str, expected: str) -> None:
    assert str(read_number(text)) == expected


def test_a_message_shows_the_first_digits_of_an_endless_number() -> None:
    third = combine("/", read_number("1e400"), read_number("3"))
    assert str(third) == "3.3333333333333333e+399"
    assert quoted("9" * 40) == "9" * 40
    assert quoted("9" * 41) == "99999999999999999… (41 digits)"


def test_arithmetic_is_exact() -> None:
    third = combine("/", read_number("1"), read_number("3"))
    assert third.value == Fraction(1, 3)
    assert combine("*", third, read_number("3")).value == 1
    assert convert(third, DTYPES["F32"]) == float(np.float32(1 / 3))


@pytest.mark.parametrize("symbol", ["+", "-", "*"])
@pytest.mark.parametrize("left", [-1.0, -0.0, 0.0, 1.0])
@pytest.mark.parametrize("right", [-1.0, -0.0, 0.0, 1.0])
def test_zeros_have_the_sign_of_ieee(symbol: str, left: float, right: float) -> None:
    numbers = [read_number(str(value)) for value in (left, right)]
    found = convert(combine(symbol, *numbers), DTYPES["F32"])
    expected = {"+": left + right, "-": left - right, "*": left * right}[symbol]
    assert str(found) == str(expected)


def test_negation_of_zero() -> None:
    zero = Number(Fraction(0))
    assert str(convert(zero.negated(), DTYPES["F32"])) == "-0.0"
    assert zero.negated().negated() == zero
    assert convert(zero.negated(), DTYPES["I32"]) == 0


def test_arithmetic_has_limits() -> None:
    with pytest.raises(NumberError, match="division by zero"):
        combine("/", read_number("1"), read_number("0"))
    large = read_number("1e1000")
    large = combine("*", large, large)
    with pytest.raises(NumberError, match="too many digits"):
        combine("*", large, large)
