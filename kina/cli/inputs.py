"""The arguments of `kina run`: from files, from numbers, or drawn with a seed.

Random inputs: floats are standard normal, except that a parameter called `u` or `uniform` lies in
(0, 1) and one called `T`, `temp` or `temperature` is 0.8; integers used as indices lie inside what
they index, other integers in -8 .. 7; Bool is fair. The same seed gives the same inputs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from math import isinf, isnan, prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from kina.arrays import Array, numpy_dtype
from kina.cli.npy import read_npy
from kina.dims import evaluate, is_symbol
from kina.dtypes import Kind
from kina.errors import Diagnostic, KinaValueError, Note
from kina.runtime.arguments import result_shape
from kina.runtime.module import Function
from kina.types import Dim, Parameter, TensorType

DEFAULT_SIZE = 4
"""The size of a symbolic dimension that neither `--size` nor a file gives."""

_MARGIN = 1e-6
_WIDEST_DRAW = 8
"""Bytes per element while random numbers are drawn."""
_BLOCK = 1 << 18
"""Elements that are drawn at a time. They are the same in any blocks."""
_MOST_DIGITS = 19
"""Of a size or a seed; more is past 64 bits."""


def _uniform(random: Generator, shape: tuple[int, ...]) -> Array:
    return random.uniform(_MARGIN, 1 - _MARGIN, shape)


def _temperature(_random: Generator, shape: tuple[int, ...]) -> Array:
    return np.full(shape, 0.8)


_BY_NAME: dict[str, Callable[[Generator, tuple[int, ...]], Array]] = {
    **dict.fromkeys(("u", "uniform"), _uniform),
    **dict.fromkeys(("T", "temp", "temperature"), _temperature),
}


class Inputs:
    """The arrays to call a function with, and where each came from."""

    def __init__(self, function: Function, given: Sequence[str], sizes: Sequence[str]) -> None:
        self._parameters = function.type.parameters
        self._ranges = function.ranges
        texts = _assignments("--arg", given, [p.name for p in self._parameters])
        chosen = _assignments("--size", sizes, function.type.symbols)
        self._files = {n: _read(n, t) for n, t in texts.items() if t.endswith((".npy", ".npz"))}
        self._sizes = dict.fromkeys(function.type.symbols, DEFAULT_SIZE)
        self._sizes.update(self._sizes_of_files())
        self._sizes.update({name: _size(name, text) for name, text in chosen.items()})
        self.type = function.type
        self.arrays: list[Array] = []
        self.described: list[str] = []
        for index, parameter in enumerate(self._parameters):
            text = texts.get(parameter.name, "random:0")
            array = self._make(index, parameter, text)
            self.arrays.append(array)
            self.described.append(f"{parameter.type.dtype} {list(array.shape)}, {text}")

    @property
    def arguments(self) -> list[Any]:
        """What to call the function with: the arrays, and the sizes among them."""
        sizes: list[Any] = [self._sizes[size.name] for size in self.type.sizes]
        return self.type.flat_in_order(list[Any](self.arrays), sizes)

    def _sizes_of_files(self) -> dict[str, int]:
        return {
            dim: size
            for parameter in self._parameters
            if parameter.name in self._files
            for dim, size in zip(
                parameter.type.dims, self._files[parameter.name].shape, strict=False
            )
            if isinstance(dim, str) and is_symbol(dim)
        }

    def _make(self, index: int, parameter: Parameter, text: str) -> Array:
        if parameter.name in self._files:
            return _as_stored(parameter.type, self._files[parameter.name])
        shape = result_shape(parameter.type, self._sizes)
        _check_size(parameter, shape)
        if text.startswith("random:"):
            return self._draw(index, parameter, shape, text.removeprefix("random:"))
        return np.full(shape, _number(parameter, text))

    def _draw(self, index: int, parameter: Parameter, shape: tuple[int, ...], seed: str) -> Array:
        if not seed.isdecimal() or len(seed) > _MOST_DIGITS:
            raise KinaValueError(
                f"--arg {parameter.name}: the seed is '{seed[:40]}', expected a number of at most "
                f"{_MOST_DIGITS} digits"
            )
        random = default_rng([int(seed), index])
        return drawn(random, parameter, shape, self._limit(index))

    def _limit(self, index: int) -> int | None:
        """What the values of an index parameter must stay below."""
        limits = [self._size_of(dim) for dim in self._ranges[index]]
        return min(limits, default=None)

    def _size_of(self, dim: Dim) -> int:
        return evaluate(dim, self._sizes)


def drawn(
    random: Generator, parameter: Parameter, shape: tuple[int, ...], limit: int | None
) -> Array:
    """Random elements in their dtype, block by block: no other array is as large."""
    result = np.empty(prod(shape), numpy_dtype(parameter.type.dtype))
    for first in range(0, result.size, _BLOCK):
        part = result[first : first + _BLOCK]
        part[:] = _draw(random, parameter, part.shape, limit).astype(part.dtype)
    return result.reshape(shape)


def _draw(
    random: Generator, parameter: Parameter, shape: tuple[int, ...], limit: int | None
) -> Array:
    kind = parameter.type.dtype.kind
    if kind is Kind.BOOL:
        return random.integers(0, 2, shape)
    if kind is Kind.INT:
        if limit == 0 and prod(shape):
            raise KinaValueError(f"'{parameter.name}' indexes an axis of size 0, which has nothing")
        low, high = (-8, 8) if limit is None else (0, max(limit, 1))
        return random.integers(low, high, shape)
    by_name = _BY_NAME.get(parameter.name)
    return random.standard_normal(shape) if by_name is None else by_name(random, shape)


def _assignments(option: str, texts: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """`NAME=VALUE` texts as a dict; every name must be one of `names`."""
    result: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise KinaValueError(f"{option} {text}: expected NAME=VALUE")
        if name not in names:
            note = Note(f"there are: {', '.join(names) or 'none'}")
            raise KinaValueError(Diagnostic(f"{option} {text}: no '{name}' here", notes=(note,)))
        if name in result:
            raise KinaValueError(f"{option} {name}: is given twice, as {result[name]} and {value}")
        result[name] = value
    return result


def _size(name: str, text: str) -> int:
    digits = text.lstrip("0") or "0"
    if not text.isdecimal():
        raise KinaValueError(f"--size {name}={text}: expected a number of at least 0")
    if len(digits) > _MOST_DIGITS:
        raise KinaValueError(f"--size {name}={digits[:_MOST_DIGITS]}…: is too large")
    return int(digits)


def _check_size(parameter: Parameter, shape: tuple[int, ...]) -> None:
    """Raise `KinaValueError` for a shape that NumPy would not even try to allocate."""
    if prod(shape) * _WIDEST_DRAW > sys.maxsize:
        raise KinaValueError(f"'{parameter.name}' of shape {list(shape)} is too large")


def _read(name: str, text: str) -> Array:
    try:
        return read_npy(Path(text))
    except (KinaValueError, OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise KinaValueError(f"--arg {name}={text}: cannot read the array: {reason}") from None


def stored(array: Array) -> Array:
    """`array` as NumPy's files can hold it: the dtypes of ml_dtypes as raw bytes."""
    native = array.dtype.isbuiltin == 1
    return array if native else array.view(f"V{array.dtype.itemsize}")


def _as_stored(type_: TensorType, array: Array) -> Array:
    """What `stored` made raw bytes gets its meaning back."""
    wanted = numpy_dtype(type_.dtype)
    unnamed = array.dtype.kind == "V" and array.dtype.names is None
    raw = unnamed and array.dtype.itemsize == wanted.itemsize
    return array.view(wanted) if raw else array


def _number(parameter: Parameter, text: str) -> Any:
    """A number as an element of the parameter's dtype, which must hold it."""
    dtype = parameter.type.dtype
    parse = float if dtype.is_float else int
    words = {"true": "1", "false": "0"} if dtype.kind is Kind.BOOL else {}
    try:
        value = parse(words.get(text, text))
    except ValueError:
        expected = f"a number for {dtype}, random:SEED or a file that ends in .npy"
        raise KinaValueError(f"--arg {parameter.name}={text}: expected {expected}") from None
    if not dtype.is_float and not _least(parameter) <= value <= _most(parameter):
        raise KinaValueError(f"--arg {parameter.name}={text}: {dtype} does not hold this number")
    with np.errstate(all="ignore"):
        element = numpy_dtype(dtype).type(value)
    if dtype.is_float and _loses(Decimal(text), float(element)):
        raise KinaValueError(
            f"--arg {parameter.name}={text}: {dtype} does not hold this number, the nearest that "
            f"it does is {element}"
        )
    return element


def _loses(written: Decimal, element: float) -> bool:
    """Whether rounding makes a number infinite, zero or NaN."""
    if not written.is_finite():
        return isnan(element) != written.is_nan()
    return isinf(element) or isnan(element) or (element == 0 and written != 0)


def _least(parameter: Parameter) -> int:
    dtype = parameter.type.dtype
    return int(dtype.lowest) if dtype.is_int else 0


def _most(parameter: Parameter) -> int:
    dtype = parameter.type.dtype
    return int(dtype.highest) if dtype.is_int else 1
