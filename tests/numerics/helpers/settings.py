"""Programs compiled as if machines were others, and the bits of what they give."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kina.machine import MACHINES

SMALL = {"tile_rows": 3, "tile_columns": 8, "tile_depth": 16, "tiles": 2, "few_rows": 1}
"""Small tiles: code that compiles quickly, and many edges."""


@contextmanager
def machines(settings: Mapping[str, int], cache: Path) -> Generator[None]:
    """Every machine with some settings, and a cache of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KINA_CACHE", str(cache))
        for known, machine in MACHINES.items():
            patch.setitem(MACHINES, known, replace(machine, **settings))
        yield


def arrays(found: object) -> list[np.ndarray]:
    """The results of a call: one, or several."""
    given: list[object] = list(found) if isinstance(found, tuple) else [found]  # pyright: ignore
    return [np.asarray(each) for each in given]


def bits(array: np.ndarray) -> np.ndarray:
    """The bits of F32, every NaN alike."""
    return np.where(np.isnan(array), np.float32(np.nan), array).view(np.uint32)
