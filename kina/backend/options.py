"""What a caller may choose about a compilation."""

from __future__ import annotations

import re
from dataclasses import dataclass

from kina.backend.targets import check_target
from kina.errors import Diagnostic, KinaValueError, Note

DEFAULT_PREFIX = "kina_"


@dataclass(frozen=True, slots=True)
class Options:
    """How to compile a program; part of the cache key."""

    target: str = "native"
    threads: bool = True
    """Whether large calls may run on an OpenMP team."""
    prefix: str = DEFAULT_PREFIX
    fast: bool = True
    """Fused and vectorised, or plain loops in the form of the specification."""
    functions: tuple[str, ...] = ()
    """What to export of what is not private; empty: all of it."""

    def __post_init__(self) -> None:
        check_target(self.target)
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", self.prefix):
            raise KinaValueError(
                Diagnostic(
                    f"the prefix is '{self.prefix}', expected a C identifier",
                    notes=(Note(f"the default is '{DEFAULT_PREFIX}'"),),
                )
            )
