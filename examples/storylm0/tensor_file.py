"""Files of tensors, in the safetensors format: a JSON header, then the bytes of each tensor."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Tensors = dict[str, Array]

_DTYPES = {"F32": np.dtype("<f4"), "I64": np.dtype("<i8"), "I8": np.dtype("i1")}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
_LENGTH = 8
"""Bytes of the length of the header, which comes first."""


class BadFile(ValueError):
    """A file that is not what it should be; the message names it."""


def save(path: Path, tensors: Mapping[str, Array], metadata: Mapping[str, str]) -> None:
    """Write a file, or leave the one that is there if the writing does not come to its end."""
    header: dict[str, object] = {"__metadata__": dict(metadata)}
    end = 0
    for name, array in tensors.items():
        start, end = end, end + array.nbytes
        header[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [start, end],
        }
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % _LENGTH)
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")
    with new.open("wb") as file:
        file.write(len(text).to_bytes(_LENGTH, "little") + text)
        for array in tensors.values():
            file.write(array.tobytes())
    os.replace(new, path)


def load(path: Path) -> tuple[Tensors, dict[str, str]]:
    """The tensors of a file, and its metadata. Raises `BadFile`, and OSError as `open` does."""
    data = path.read_bytes()
    size = int.from_bytes(data[:_LENGTH], "little")
    start = _LENGTH + size
    if len(data) < _LENGTH or start > len(data):
        raise BadFile(f"{path}: no file of tensors, or a part of one: its header does not end")
    try:
        header = json.loads(data[_LENGTH:start])
        entries = dict(cast("dict[str, Any]", header))
        metadata = cast("dict[str, str]", entries.pop("__metadata__", {}))
        found = {name: _entry(entry) for name, entry in entries.items()}
    except (ValueError, TypeError, KeyError, RecursionError) as problem:
        raise BadFile(f"{path}: no file of tensors: its header is not one") from problem
    tensors: Tensors = {}
    for name, (dtype, shape, first, last) in found.items():
        if not 0 <= first <= last or last - first != prod(shape) * dtype.itemsize:
            raise BadFile(f"{path}: {name} of shape {shape} cannot be in {last - first} bytes")
        if start + last > len(data):
            missing = start + last - len(data)
            raise BadFile(f"{path}: it ends {missing} bytes before {name} does: a part is missing")
        tensors[name] = np.frombuffer(data, dtype, prod(shape), start + first).reshape(shape)
    return tensors, metadata


def _entry(entry: Any) -> tuple[np.dtype[Any], list[int], int, int]:
    """What the header says of a tensor."""
    shape = [int(size) for size in entry["shape"]]
    first, last = map(int, entry["data_offsets"])
    return _DTYPES[entry["dtype"]], shape, first, last
