"""Dimensions are polynomials in normal form: equal exactly if their texts are."""

from __future__ import annotations

import random

import pytest

from kina.dims import (
    Dim,
    DimError,
    add,
    element_count,
    evaluate,
    is_derived,
    is_normal,
    is_possible,
    is_symbol,
    may_be_negative,
    multiply,
    substitute,
    subtract,
    symbols_of,
    terms_of,
)


@pytest.mark.parametrize(
    ("dim", "expected"),
    [
        (add("T", 1), "T + 1"),
        (add(1, "T", "T"), "2 * T + 1"),
        (multiply([3, "D"]), "3 * D"),
        (multiply(["K", "H"]), "H * K"),
        (multiply(["T + 1", "T - 1"]), "T * T - 1"),
        (multiply(["B", "T + 1"]), "B * T + B"),
        (multiply([]), 1),
        (subtract("T + 1", 1), "T"),
        (subtract("T + 1", "T"), 1),
        (subtract(1, "T"), "1 - T"),
        (subtract(0, "T"), "-T"),
        (substitute("N + 1", {"N": "T + 1"}), "T + 2"),
        (substitute("N * M", {"N": 2, "M": "T + 1"}), "2 * T + 2"),
        (substitute("N - 1", {"N": 4}), 3),
    ],
)
def test_normal_forms(dim: Dim, expected: Dim) -> None:
    assert dim == expected


def test_arithmetic_agrees_with_that_of_integers() -> None:
    choose = random.Random(0)
    for _ in range(500):
        sizes = {name: choose.randint(0, 5) for name in "ABC"}
        dim: Dim = choose.choice(["A", "B", 1, 2])
        value = evaluate(dim, sizes)
        for _ in range(choose.randint(1, 4)):
            other: Dim = choose.choice(["A", "B", "C", 1, 2, 3])
            size = evaluate(other, sizes)
            dim, value = choose.choice(
                [
                    (add(dim, other), value + size),
                    (subtract(dim, other), value - size),
                    (multiply([dim, other]), value * size),
                ]
            )
        assert evaluate(dim, sizes) == value
        assert add(dim, 0) == dim
        assert element_count([dim, "A"]) == multiply(["A", dim])
        if isinstance(dim, str):
            assert is_normal(dim) == is_possible(dim)
            assert set(symbols_of(dim)) == {s for symbols in terms_of(dim) for s in symbols}
        bound: dict[str, Dim] = {"A": "B + 1", "B": "A * B", "C": 2}
        inner = {"A": sizes["B"] + 1, "B": sizes["A"] * sizes["B"], "C": 2}
        assert evaluate(substitute(dim, bound), sizes) == evaluate(dim, inner)


@pytest.mark.parametrize(
    "text",
    [
        "1 + T",
        "T+1",
        "D * 3",
        "T - T",
        "-T",
        "- 1",
        "3",
        "",
        "T * ",
        "T  + 1",
        "T / 2",
        "T + + 1",
        "02 * T",
        "B*T",
        "2 * 3 * T",
        "1 * T",
        "T + 0",
        " T",
        "T * T * ",
        "K * H",
        "a-b",
        "é",
    ],
)
def test_no_normal_form(text: str) -> None:
    assert not is_normal(text)


def test_what_a_dimension_is() -> None:
    assert is_symbol("T")
    assert not is_symbol("T + 1")
    assert not is_symbol(4)
    assert is_derived("3 * D")
    assert not is_derived("D")
    assert may_be_negative("T - 1")
    assert not may_be_negative("T + 1")
    assert is_possible("T - 1")
    assert not is_possible(0)
    assert not is_possible("-T")


def test_limits() -> None:
    sums = [add(*(f"S{part}_{i}" for i in range(9))) for part in range(2)]
    with pytest.raises(DimError, match="at most 64 terms"):
        multiply(sums)
    with pytest.raises(DimError, match="at most 64 symbols"):
        multiply(["T"] * 65)
    with pytest.raises(DimError, match="a coefficient"):
        multiply(["T", 2**62, 2])
    assert len(terms_of(multiply([*sums[:1], "T"]))) == 9
