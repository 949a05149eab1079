"""The attribute of a function that says what it requires of run-time sizes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from kina.dims import is_polynomial
from kina.rules.requirements import Requirement

REQUIRES = "kina.requires"
"""Each requirement is a list: a size in normal form, the least that it may be, words."""


def set_requirements(function: FuncOp, requirements: Sequence[Requirement]) -> None:
    """Write them down, if there are any."""
    if requirements:
        function.attributes[REQUIRES] = ArrayAttr(
            ArrayAttr([StringAttr(each.dim), IntegerAttr(each.least, i64), StringAttr(each.text)])
            for each in requirements
        )


def requirements_of(function: FuncOp) -> tuple[Requirement, ...]:
    """What a function requires; a `VerifyException` for an attribute that says nothing such."""
    written = function.attributes.get(REQUIRES)
    return () if written is None else tuple(_read(written))


def _read(written: Attribute) -> Iterator[Requirement]:
    rows = cast(ArrayAttr[Attribute], written) if isinstance(written, ArrayAttr) else (written,)
    for row in rows:
        match row:
            case ArrayAttr(
                data=(
                    StringAttr(data=dim),
                    IntegerAttr() as least,
                    StringAttr(data=text),
                )
            ) if is_polynomial(dim):
                yield Requirement(dim, least.value.data, text)
            case _:
                raise VerifyException(
                    f'{REQUIRES} has {row}, expected a list such as ["T", 1, "it is empty"]'
                )
