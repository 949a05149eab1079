"""Python's garbage collector in a process that lives for one command."""

from __future__ import annotations

import atexit
import gc

_THRESHOLD = 100_000


def seldom_collect() -> None:
    """Do not look for garbage where there is none.

    Imports make many objects that all stay; looking through them, above all once more on the way
    out, would take a sixth of `kina run`.
    """
    gc.set_threshold(_THRESHOLD)
    atexit.register(gc.freeze)
