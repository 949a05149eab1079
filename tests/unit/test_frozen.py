"""Frozen data classes behave as those of `dataclasses`."""

from __future__ import annotations

import pickle
from dataclasses import asdict, field, replace

import pytest

from kina.frozen import frozen


@frozen(slots=True)
class Point:
    """Two numbers, and a name that does not count."""

    x: int
    y: int = 0
    name: str = field(default="", compare=False, kw_only=True)


@frozen
class Other:
    """The same fields."""

    x: int
    y: int = 0


@frozen
class Nothing:
    """No fields."""


@frozen(eq=False)
class Single:
    """Equal to nothing else."""

    x: int


def test_fields_decide_what_is_equal() -> None:
    assert Point(1, 2, name="a") == Point(1, y=2)
    assert Point(1, 2) != Point(1, 3)
    assert Point(1) != Other(1)
    assert Nothing() == Nothing()
    assert Single(1) != Single(1)
    assert len({Point(1), Point(1, name="a"), Point(2)}) == 2
    assert len({Nothing(), Nothing()}) == 1


def test_tools_of_data_classes_take_them() -> None:
    assert repr(Point(1, name="a")) == "Point(x=1, y=0, name='a')"
    assert replace(Point(1), y=3) == Point(1, 3)
    assert asdict(Other(1)) == {"x": 1, "y": 0}
    assert pickle.loads(pickle.dumps([Point(1), Other(2)])) == [Point(1), Other(2)]


def test_a_missing_field_is_an_error() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Other()  # pyright: ignore[reportCallIssue]
