"""A weights file: safetensors, written and read by hand, since that takes a page.

The file is the length of a header (8 bytes), the header (JSON: for each tensor its dtype, shape and
place), and the tensors one after the other. What is read lies in memory of its own.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

import kina

Array = NDArray[Any]
Shape = tuple[int, ...]

DTYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype(np.float32),
    "BF16": np.dtype(ml_dtypes.bfloat16),
    "I8": np.dtype(np.int8),
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
ALIGNMENT = 64
"""Of the first tensor; all others follow it, and are whole cache lines in this model."""


class WeightsError(ValueError):
    """A weights file that is not what the program takes."""


@dataclass(frozen=True)
class Tensor:
    """One tensor that is to be written."""

    name: str
    dtype: np.dtype[Any]
    shape: Shape
    make: Callable[[], Array]
    """Its elements, when they are needed."""

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return math.prod(self.shape) * self.dtype.itemsize


def write(path: Path, tensors: Sequence[Tensor], metadata: Mapping[str, str]) -> Iterator[int]:
    """Write a file, which appears when all is written; gives the bytes of each tensor done.

    A `WeightsError` if it cannot be written; nothing is left of it then.
    """
    header: dict[str, object] = {"__metadata__": dict(metadata)}
    end = 0
    for tensor in tensors:
        start, end = end, end + tensor.size
        entry = {"dtype": NAMES[tensor.dtype], "shape": tensor.shape, "data_offsets": [start, end]}
        header[tensor.name] = entry
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            for tensor in tensors:
                array = tensor.make()
                assert array.shape == tensor.shape, tensor.name
                assert array.dtype == tensor.dtype, tensor.name
                file.write(np.ascontiguousarray(array).tobytes())
                yield tensor.size
        part.replace(path)
    except OSError as error:
        raise WeightsError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        part.unlink(missing_ok=True)


def read(path: Path) -> dict[str, Array]:
    """The tensors of a file, read-only; a `WeightsError` if it is damaged."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > min(size - 8, 100_000_000):
                raise WeightsError(f"{path}: not a safetensors file, or cut off in its header")
            header: object = json.loads(file.read(length))
    except OSError as error:
        raise WeightsError(f"{path}: {error.strerror}") from error
    except ValueError as error:
        if isinstance(error, WeightsError):
            raise
        raise WeightsError(f"{path}: not a safetensors file: its header is no JSON") from error
    if not isinstance(header, dict):
        raise WeightsError(f"{path}: not a safetensors file: its header is no object")
    entries = cast("dict[str, object]", header)
    entries.pop("__metadata__", None)
    data = _data(path, 8 + length, size - 8 - length)
    return {name: _tensor(path, name, entry, data) for name, entry in entries.items()}


def _data(path: Path, start: int, size: int) -> Array:
    """Bytes of a file in memory that begins at a line, and which NumPy asks large pages for.

    Those of a mapped file are small: a processor looks no further ahead than one reaches, and reads
    weights half as fast.
    """
    memory = np.empty(size + ALIGNMENT, np.uint8)
    first = -memory.ctypes.data % ALIGNMENT
    data = memory[first : first + size]
    try:
        with path.open("rb", buffering=0) as file:
            file.seek(start)
            done = 0
            while got := file.readinto(data[done:].data):
                done += got
    except OSError as error:
        raise WeightsError(f"{path}: {error.strerror}") from error
    data.flags.writeable = False
    return data[:done]


def _tensor(path: Path, name: str, entry: object, data: Array) -> Array:
    try:
        found = cast("dict[str, Any]", entry)
        dtype, shape = DTYPES.get(found["dtype"]), tuple(int(size) for size in found["shape"])
        start, end = (int(offset) for offset in found["data_offsets"])
    except (TypeError, KeyError, ValueError) as error:
        raise WeightsError(f"{path}: tensor {name} has no dtype, shape and place") from error
    if dtype is None:
        known = ", ".join(DTYPES)
        raise WeightsError(f"{path}: tensor {name} is {found['dtype']}, expected one of {known}")
    if min(shape, default=1) < 0 or not 0 <= start <= end:
        raise WeightsError(f"{path}: tensor {name} has an impossible shape or place")
    if end - start != math.prod(shape) * dtype.itemsize:
        raise WeightsError(f"{path}: tensor {name} has {end - start} bytes, too few or too many")
    if end > data.size:
        raise WeightsError(
            f"{path}: cut off: tensor {name} ends at byte {end} of the data, of which there are "
            f"{data.size}"
        )
    return data[start:end].view(dtype).reshape(shape)


def record(path: Path, tensors: Mapping[str, Array], function: kina.Function) -> dict[str, Any]:
    """The tensors as the record `w` that a function takes; a `WeightsError` if they are others."""
    sizes: dict[str, int] = {}
    found: dict[str, Any] = {}
    for parameter in function.type.parameters:
        record_name, _, name = parameter.name.partition(".")
        if record_name != "w":
            continue
        if name not in tensors:
            raise WeightsError(f"{path}: there is no tensor {name}: these are another model's")
        array, type_ = tensors[name], parameter.type
        fits = array.ndim == len(type_.dims) and all(
            size == (sizes.setdefault(dim, size) if isinstance(dim, str) else dim)
            for dim, size in zip(type_.dims, array.shape, strict=True)
        )
        if NAMES[array.dtype] != type_.dtype.name or not fits:
            came = f"{NAMES[array.dtype]} {list(array.shape)}"
            where = "".join(f", {dim} = {size}" for dim, size in sizes.items() if dim in type_.dims)
            raise WeightsError(f"{path}: tensor {name} is {came}, expected {type_}{where}")
        *outer, field = name.split(".")
        inner = found
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[field] = array
    return found
