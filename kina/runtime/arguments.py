"""Checks the arguments of a call in full, with an error for each way to get them wrong.

`fastcall` skips all of this for arguments that are right already; whatever it does not know comes
here. After `Arguments.bind`, every array has the right dtype, a shape with one size per symbol,
native byte order, alignment and C order, so that a bare pointer is all that the code needs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, cast

import numpy as np

from kina.arrays import Array, numpy_dtype
from kina.dims import MAX_SIZE, evaluate, is_symbol, symbols_of
from kina.errors import Diagnostic, KinaTypeError, KinaValueError, Note, counted
from kina.frozen import frozen
from kina.runtime.foreign import as_input, as_output
from kina.runtime.numpy_types import CLEAN, is_clean
from kina.types import (
    Dim,
    Parameter,
    RecordType,
    Signature,
    SizeParameter,
    TensorType,
    TupleType,
    Type,
    format_dims,
)

_READY = ("C_CONTIGUOUS", "ALIGNED")
_OUT = "out"
"""The keyword that is Python's, whatever a program calls its parameters."""


@frozen(slots=True)
class Bound:
    """Checked inputs and the size of each symbol."""

    inputs: tuple[Array, ...]
    sizes: Mapping[str, int]
    parameters: Mapping[str, int]
    """The sizes that are parameters of their own."""


def bind(signature: Signature, args: Sequence[object], named: Mapping[str, object]) -> Bound:
    """The inputs of a call, in order; other layouts than C order are copied.

    Raises `KinaTypeError` for a wrong number of arguments or a wrong dtype, `KinaValueError` for
    a wrong shape or sizes that disagree.
    """
    names = signature.flat_names
    values = dict(zip(names, match(signature, names, args, named), strict=True))
    arrays = tuple(
        _checked(signature, parameter, values[parameter.name]) for parameter in signature.parameters
    )
    given = {size.name: _given_size(signature, size, values[size.name]) for size in signature.sizes}
    sizes = _sizes(signature, arrays, given)
    _check_empty(signature, arrays)
    inputs = tuple(
        _ready(parameter.type, array)
        for parameter, array in zip(signature.parameters, arrays, strict=True)
    )
    return Bound(inputs, sizes, given)


def match(
    signature: Signature,
    names: Sequence[str],
    args: Sequence[object],
    named: Mapping[str, object],
) -> list[object]:
    """The values in the order of the parameters' names; `KinaTypeError` if they do not fit."""
    if len(args) > len(names):
        raise _wrong_call(signature, f"takes {counted(len(names), 'argument')}, got {len(args)}")
    positions = {name: position for position, name in enumerate(names)}
    for name in named:
        if name not in positions:
            raise _wrong_call(signature, f"has no parameter '{name}'")
        if positions[name] < len(args):
            raise _wrong_call(signature, f"got '{name}' twice, by position and by name")
    missing = [name for name in names[len(args) :] if name not in named]
    if missing:
        by_position = ("out= takes the array to write: pass parameter 'out' by position",)
        advice = by_position if _OUT in missing else ()
        problem = f"takes {counted(len(names), 'argument')}, missing: {_listed(missing)}"
        raise _wrong_call(signature, problem, *advice)
    return [*args, *(named[name] for name in names[len(args) :])]


_MOST_ROWS = 1 << 47
"""The product of the sizes of an empty array that are not 0."""
_MAX_TYPE, _MAX_NAMES = 600, 10
"""Characters of a type, and names in a list, that a message shows."""


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:_MAX_NAMES])
    more = len(names) - _MAX_NAMES
    return f"{shown} and {more} more" if more > 0 else shown


def _wrong_call(signature: Signature, problem: str, *advice: str) -> KinaTypeError:
    type_ = str(signature)
    shown = type_ if len(type_) <= _MAX_TYPE else f"{type_[:_MAX_TYPE]} …"
    notes = tuple(map(Note, (f"its type is {shown}", *advice)))
    return KinaTypeError(Diagnostic(f"{signature.name}: {problem}", notes=notes))


def _checked(signature: Signature, parameter: Parameter, value: object) -> Array:
    what = f"{signature.name}: parameter '{parameter.name}'"
    array = as_input(what, value)
    check_dtype(what, parameter.type, array)
    if not _fits(parameter.type.dims, array.shape):
        raise wrong_shape(what, parameter.type.dims, array)
    return array


def check_dtype(what: str, type_: TensorType, array: Array) -> None:
    """Raise `KinaTypeError` unless the array's dtype, byte order included, is the type's."""
    wanted = numpy_dtype(type_.dtype)
    if array.dtype == wanted:
        return
    came = str(array.dtype)
    if array.dtype == wanted.newbyteorder():
        came += " (the other byte order)"
    notes = (Note("Kina never converts by itself: pass x.astype(…) if that is meant"),)
    raise KinaTypeError(
        Diagnostic(f"{what}: expected dtype {wanted} ({type_.dtype}), got {came}", notes=notes)
    )


def _fits(dims: Sequence[Dim], shape: Sequence[int]) -> bool:
    return len(dims) == len(shape) and all(
        dim == size for dim, size in zip(dims, shape, strict=True) if isinstance(dim, int)
    )


def wrong_shape(what: str, dims: Sequence[Dim], array: Array) -> KinaValueError:
    """The error for an array of the wrong shape."""
    came = format_dims(array.shape)
    return KinaValueError(f"{what}: expected shape {format_dims(dims)}, got {came}")


def _given_size(signature: Signature, parameter: SizeParameter, value: Any) -> int:
    """The value of a `size` parameter."""
    what = f"{signature.name}: parameter '{parameter.name}'"
    if not hasattr(value, "__index__") or isinstance(value, bool | np.bool_):
        raise KinaTypeError(f"{what} is a size: expected an integer, got {value!r:.80}")
    try:
        size = int(value.__index__())
    except TypeError as error:
        raise KinaTypeError(f"{what} is a size: expected an integer; {error}") from None
    if not 0 <= size <= MAX_SIZE:
        raise KinaValueError(f"{what} is {size}, expected a size of at least 0, at most 2^63 - 1")
    return size


def _sizes(
    signature: Signature, arrays: Sequence[Array], given: Mapping[str, int]
) -> dict[str, int]:
    """One size per symbol, to which every computed dimension fits."""
    sizes: dict[str, int] = dict(given)
    origin: dict[str, str] = {name: name for name in given}
    for parameter, array in zip(signature.parameters, arrays, strict=True):
        for dim, size in zip(parameter.type.dims, array.shape, strict=True):
            if not isinstance(dim, str) or not is_symbol(dim):
                continue
            if sizes.setdefault(dim, size) != size:
                raise KinaValueError(
                    f"{signature.name}: dimension '{dim}' is {sizes[dim]} in parameter "
                    f"'{origin[dim]}' and {size} in parameter '{parameter.name}', "
                    "expected one size"
                )
            origin.setdefault(dim, parameter.name)
    for parameter, array in zip(signature.parameters, arrays, strict=True):
        for dim, size in zip(parameter.type.dims, array.shape, strict=True):
            if size != evaluate(dim, sizes):
                raise _wrong_derived(signature, parameter, str(dim), size, sizes)
    return sizes


def _check_empty(signature: Signature, arrays: Sequence[Array]) -> None:
    """Raise `MemoryError` for an array that would be past every memory if it were not empty.

    Compiled code takes memory for its rows and columns without another look at their number.
    """
    for array in arrays:
        if array.size == 0 and prod(filter(None, array.shape)) > _MOST_ROWS:
            raise no_memory(signature, array.shape)


def _wrong_derived(
    signature: Signature, parameter: Parameter, dim: str, size: int, sizes: Mapping[str, int]
) -> KinaValueError:
    """The error for a dimension that is not what its symbols make it."""
    bound = ", ".join(f"{symbol} = {sizes[symbol]}" for symbol in symbols_of(dim))
    return KinaValueError(
        f"{signature.name}: dimension '{dim}' of parameter '{parameter.name}' is {size}, "
        f"expected {evaluate(dim, sizes)} ({bound})"
    )


def _ready(type_: TensorType, array: Array) -> Array:
    """The array itself if a bare pointer to it will do, else a copy of which that is true."""
    ready = np.require(array, requirements=_READY)
    test = is_clean(type_.dtype)
    return ready if test is None or test(ready) else CLEAN[type_.dtype.name](ready)


def result_shape(type_: TensorType, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of a result at these sizes."""
    return tuple(evaluate(dim, sizes) for dim in type_.dims)


def bind_outputs(signature: Signature, bound: Bound, out: object) -> tuple[list[Array], list[Any]]:
    """The arrays to write, and the objects to return for them (the caller's own where given).

    `out` is None, one array, or a tuple of arrays and Nones, one per result. Raises
    `KinaTypeError` or `KinaValueError` for an array that cannot take the result.
    """
    results = signature.results
    given = (None,) * len(results) if out is None else _as_tuple(out)
    if len(given) != len(results):
        came = f"a tuple of {len(given)}" if isinstance(out, tuple) else f"a {type(out).__name__}"
        wanted = "one array" if len(results) == 1 else f"a tuple of {len(results)} arrays"
        raise KinaTypeError(f"{signature.name}: out: expected {wanted}, got {came}")
    arrays: list[Array] = []
    names = output_names(signature.result)
    for name, type_, value in zip(names, results, given, strict=True):
        shape = result_shape(type_, bound.sizes)
        if value is None:
            arrays.append(_fresh(signature, type_, shape))
        else:
            arrays.append(_checked_output(f"{signature.name}: {name}", type_, shape, value))
    _check_overlap(signature, bound, arrays)
    returned = [a if g is None else g for a, g in zip(arrays, given, strict=True)]
    return arrays, returned


def output_names(type_: Type, name: str = "out") -> list[str]:
    """What messages call each array of `out=`."""
    match type_:
        case TensorType():
            return [name]
        case RecordType():
            found = (output_names(field.type, f"{name}.{field.name}") for field in type_.fields)
        case TupleType():
            items = enumerate(type_.items)
            found = (output_names(item, f"{name}[{index}]") for index, item in items)
    return [name for names in found for name in names]


def _fresh(signature: Signature, type_: TensorType, shape: tuple[int, ...]) -> Array:
    """A new array; whatever NumPy says of a size that it cannot make is a `MemoryError`."""
    try:
        return np.empty(shape, numpy_dtype(type_.dtype))
    except ValueError:
        raise no_memory(signature, shape) from None


def no_memory(signature: Signature, shape: Sequence[int]) -> MemoryError:
    """The error for an array that no memory holds."""
    return MemoryError(f"{signature.name}: no memory holds an array of shape {format_dims(shape)}")


def _as_tuple(out: object) -> tuple[object, ...]:
    return cast("tuple[object, ...]", out) if isinstance(out, tuple) else (out,)


def _checked_output(what: str, type_: TensorType, shape: tuple[int, ...], value: object) -> Array:
    array = as_output(what, value)
    check_dtype(what, type_, array)
    if array.shape != shape:
        raise wrong_shape(what, shape, array)
    flags = array.flags
    if isinstance(value, np.generic) or not flags.writeable:
        raise KinaValueError(
            f"{what}: expected an array to write to, got a read-only one; a copy is writable"
        )
    if not (flags.c_contiguous and flags.aligned):
        came = "an unaligned one" if flags.c_contiguous else f"strides {array.strides}"
        raise KinaValueError(
            f"{what}: expected an aligned array in C order, got {came}; "
            f"np.empty({shape}, {array.dtype.name!r}) is one"
        )
    return array


def _check_overlap(signature: Signature, bound: Bound, arrays: Sequence[Array]) -> None:
    one = {
        parameter: result
        for parameter, result in signature.aliases
        if arrays[result].ctypes.data == bound.inputs[parameter].ctypes.data
    }
    inputs = [array for place, array in enumerate(bound.inputs) if place not in one]
    if not _any_overlap(inputs, arrays):
        return
    names = [f"parameter '{parameter.name}'" for parameter in signature.parameters]
    others = list(zip(names, bound.inputs, strict=True))
    for index, (name, array) in enumerate(zip(output_names(signature.result), arrays, strict=True)):
        for place, (other, memory) in enumerate(others):
            # Both are contiguous, so the bounds decide exactly.
            other_place = one.get(place) != index
            if array.nbytes and other_place and np.may_share_memory(array, memory):
                raise KinaValueError(f"{signature.name}: {name} overlaps {other}")
        others.append((name, array))


def _any_overlap(inputs: Sequence[Array], outputs: Sequence[Array]) -> bool:
    """Whether some output shares a byte with another array: one sweep, for there may be thousands.

    All are contiguous, and an empty one has no byte. Inputs may share what they like.
    """
    spans = sorted(
        (array.ctypes.data, array.ctypes.data + array.nbytes, written)
        for written, group in ((False, inputs), (True, outputs))
        for array in group
        if array.nbytes
    )
    end = end_written = 0
    for start, stop, written in spans:
        if start < (end if written else end_written):
            return True
        end = max(end, stop)
        end_written = max(end_written, stop if written else 0)
    return False
