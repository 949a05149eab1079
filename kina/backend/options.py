"""What a caller may choose about a compilation."""

from __future__ import annotations

import re
from dataclasses import fields
from enum import StrEnum
from typing import cast

from kina.backend.targets import check_target, single_targets
from kina.errors import Diagnostic, KinaTypeError, KinaValueError, Note
from kina.frozen import frozen

DEFAULT_PREFIX = "kina_"
MAX_PREFIX = 63
"""As many characters of a name matter in C."""


class Product(StrEnum):
    """What to make of a program; the value is the file's name in the cache."""

    SHARED = "lib.so"
    ARCHIVE = "lib.a"
    OBJECT = "lib.o"


@frozen(slots=True)
class Options:
    """How to compile a program; part of the cache key."""

    target: str = "native"
    threads: bool = True
    """Whether large calls may run on several threads."""
    prefix: str = DEFAULT_PREFIX
    fast: bool = True
    """Fused and vectorised, or plain loops in the form of the specification."""
    functions: tuple[str, ...] = ()
    """What to export of what is not private; empty: all of it."""
    product: Product = Product.SHARED
    soname: str = ""
    """What a program that is linked with a shared library asks the loader for."""

    def __post_init__(self) -> None:
        for field in fields(self):
            expected = cast("type[object]", type(field.default))
            value = getattr(self, field.name)
            if not isinstance(value, expected):
                came = type(value).__name__
                raise KinaTypeError(f"{field.name}: expected a {expected.__name__}, got {came}")
        check_target(self.target)
        problem = _prefix_problem(self.prefix)
        if problem is not None:
            notes = (Note(f"the default is '{DEFAULT_PREFIX}'"),)
            raise KinaValueError(Diagnostic(problem, notes=notes))

    @property
    def has_team(self) -> bool:
        """Whether large calls may run on several threads, where the target has any."""
        return self.threads and single_targets(self.target)[0].system.has_team


def _prefix_problem(prefix: str) -> str | None:
    """Why a prefix will not do; None if it will. No prefix at all will."""
    if len(prefix) > MAX_PREFIX:
        came = f"{prefix[:MAX_PREFIX]}…"
        return f"the prefix '{came}' has {len(prefix)} characters, expected {MAX_PREFIX} at most"
    if prefix.startswith("_"):
        return f"the prefix is '{prefix}', but C keeps names that start with '_' for itself"
    if prefix and not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", prefix):
        return f"the prefix is '{prefix}', expected a C identifier"
    return None
