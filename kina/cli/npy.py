"""Reads a `.npy` file, and says what is wrong with one in words of its own.

NumPy's own messages about a damaged file advise to load it as a pickle, which runs code.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from kina.arrays import Array
from kina.errors import KinaValueError

_ARCHIVE = b"PK"
"""What a zip archive, and so an .npz file, starts with."""


def read_npy(path: Path) -> Array:
    """The array in the file.

    Raises `KinaValueError` for one that holds no array of numbers, `OSError` for one that cannot
    be read.
    """
    with path.open("rb") as file:
        start = file.read(len(npy.MAGIC_PREFIX))
        if start.startswith(_ARCHIVE):
            raise KinaValueError("it is an .npz archive, expected one array as np.save writes it")
        if start != npy.MAGIC_PREFIX:
            raise KinaValueError("it is not a .npy file, expected one as np.save writes it")
        file.seek(0)
        array = _read(file)
    if array is None:
        raise KinaValueError("the .npy file is damaged, or holds no numbers: write it again")
    return array


def _read(file: Any) -> Array | None:
    """The array, or None for whatever NumPy has against the file."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return npy.read_array(file, allow_pickle=False)
    except OSError:
        raise
    except Exception:
        # The header is a Python literal: it fails in as many ways as Python's parser does.
        return None
