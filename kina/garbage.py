"""Python's garbage collector while a program is checked or compiled, and where nothing else runs.

Imports, syntax trees and IR make many objects that all stay. Looking through them as often as
Python does by itself would take a tenth of a small compilation, and a third of a large one.
"""

from __future__ import annotations

import atexit
import gc
from collections.abc import Generator
from contextlib import contextmanager

_THRESHOLD = 250_000


def seldom_collect() -> None:
    """From here on, and not at all once more on the way out."""
    gc.set_threshold(_THRESHOLD)
    atexit.register(gc.freeze)


@contextmanager
def seldom_collected() -> Generator[None]:
    """For a while, if at all."""
    thresholds = gc.get_threshold()
    if thresholds[0]:
        gc.set_threshold(max(_THRESHOLD, thresholds[0]), *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
