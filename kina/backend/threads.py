"""The pool of threads that a library contains if large calls of it may run on several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from kina.backend.c_names import distinct
from kina.backend.metadata import CompiledFunction

POOL = Path(__file__).with_name("pool.c")
MACRO = "KINA_SET_THREADS"
"""The macro of the pool for the name of the function that sets how many threads are used."""


def set_threads_symbol(symbols: Iterable[str], prefix: str) -> str:
    """What that function is called in a library that exports `symbols`."""
    return distinct([*symbols, f"{prefix}set_threads"])[-1]


def set_threads_of(functions: Sequence[CompiledFunction]) -> str | None:
    """What it is called in the library of these functions; None if they use no threads."""
    if not any(function.threads for function in functions):
        return None
    first = functions[0]
    prefix = first.c_name.removesuffix(first.name)
    names = dict.fromkeys([*(f.symbol for f in functions), *(f.c_name for f in functions)])
    return set_threads_symbol(names, prefix)
