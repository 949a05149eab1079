"""Arrays of other libraries as NumPy arrays that share their memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from kina.arrays import Array
from kina.errors import Diagnostic, KinaTypeError, KinaValueError, Note

# kDLCPU, and memory of the CPU that is pinned for a device: kDLCUDAHost, kDLROCMHost.
_IN_CPU_MEMORY = frozenset({1, 3, 11})

T = TypeVar("T")


def as_ndarray(what: str, value: Any) -> Array:
    """`value` as a plain NumPy array without a copy; `what` names it in errors.

    Takes NumPy arrays and scalars, and whatever has `__array_interface__` or, in the memory of the
    CPU, `__dlpack__`. Raises `KinaTypeError` for anything else (lists and Python numbers have no
    dtype to check) and for masked arrays, `KinaValueError` for memory that cannot be shared and
    for an object whose `__array_interface__` or `__dlpack__` fails.
    """
    if type(value) is np.ndarray:
        return cast(Array, value)
    if isinstance(value, np.ma.MaskedArray):
        raise _masked(what)
    if isinstance(value, np.ndarray):
        # A subclass may say anything about itself; NumPy knows what its memory is.
        return np.asarray(cast(Array, value))
    if _attempt(what, value, "__array_interface__", lambda: hasattr(value, "__array_interface__")):
        return _from_interface(what, value)
    if _attempt(what, value, "__dlpack__", lambda: hasattr(value, "__dlpack__")):
        return _from_dlpack(what, value)
    note = Note("make an array of it: np.asarray(x, dtype=…)")
    came = type(value).__name__
    raise KinaTypeError(Diagnostic(f"{what}: expected an array, got {came}", notes=(note,)))


def as_input(what: str, value: Any) -> Array:
    """`as_ndarray` for an array that is only read, so that a copy of it will do.

    DLPack has no word for the negative bit of a PyTorch tensor (`x.conj().imag` has it): its memory
    holds the values with the other sign.
    """
    if _negated(what, value):
        value = _attempt(what, value, "resolve_neg", lambda: value.resolve_neg())
    return as_ndarray(what, value)


def as_output(what: str, value: Any) -> Array:
    """`as_ndarray` for an array to write; raises `KinaValueError` for one with a negative bit."""
    if _negated(what, value):
        note = Note("pass x.resolve_neg(), which has memory of its own")
        raise KinaValueError(
            Diagnostic(f"{what}: the tensor's memory holds its values negated", notes=(note,))
        )
    return as_ndarray(what, value)


def _negated(what: str, value: Any) -> bool:
    def ask() -> bool:
        return hasattr(value, "is_neg") and value.is_neg() is True

    return _attempt(what, value, "is_neg", ask)


def _masked(what: str) -> KinaTypeError:
    note = Note("pass x.filled(value), or a tensor of weights for the mask")
    return KinaTypeError(Diagnostic(f"{what}: a masked array's mask would be lost", notes=(note,)))


def _from_interface(what: str, value: Any) -> Array:
    """The array that `__array_interface__` describes."""
    described = _attempt(what, value, "__array_interface__", lambda: value.__array_interface__)
    if isinstance(described, dict) and cast("dict[str, Any]", described).get("mask") is not None:
        raise _masked(what)
    return _attempt(what, value, "__array_interface__", lambda: np.asarray(value))


def _from_dlpack(what: str, value: Any) -> Array:
    device = _attempt(what, value, "__dlpack_device__", lambda: _device(value))
    if device not in _IN_CPU_MEMORY:
        note = Note("copy it to the CPU first, for example x.cpu()")
        raise KinaValueError(
            Diagnostic(f"{what}: the array is not in the memory of the CPU", notes=(note,))
        )
    array = _attempt(what, value, "__dlpack__", lambda: np.from_dlpack(value))
    # Where there is no memory behind the tensor, NumPy takes some of its own.
    if array.flags.owndata and array.size:
        name = type(value).__name__
        raise KinaValueError(f"{what}: the {name} has no memory: its values do not exist")
    return array


def _device(value: Any) -> int:
    device, _ = value.__dlpack_device__()
    return int(device)


def _attempt(what: str, value: Any, protocol: str, ask: Callable[[], T]) -> T:
    """What `ask` gives; whatever a foreign object raises becomes a `KinaValueError`."""
    try:
        return ask()
    except MemoryError:
        raise
    except Exception as error:
        name = type(value).__name__
        says = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        notes = (Note(f"{name} says: {says}"), *_advice(f"{name} {error}"))
        raise KinaValueError(
            Diagnostic(f"{what}: the array cannot be shared: {protocol} failed", notes=notes)
        ) from None


# What libraries say, and what helps; the first that fits.
_ADVICE = (
    ("grad", "Kina does not record gradients: pass x.detach()"),
    ("conjugate", "pass x.resolve_conj(); of a complex tensor, its .real or .imag"),
    ("type meta", "a meta tensor has a shape but no values: make one on the CPU"),
    ("qint", "Kina has no quantised arrays: pass x.dequantize(), or its integers x.int_repr()"),
    ("nested", "a nested tensor has rows of several lengths: pad it, x.to_padded_tensor(0.0)"),
    ("layout", "Kina takes dense arrays: pass x.to_dense()"),
    ("opaque", "Kina takes dense arrays: pass x.to_dense()"),
    (
        "dtype",
        "NumPy has no such DLPack dtype; for a torch bfloat16 tensor pass "
        "x.view(torch.int16).numpy().view(ml_dtypes.bfloat16)",
    ),
)


def _advice(message: str) -> tuple[Note, ...]:
    found = (advice for word, advice in _ADVICE if word in message.lower())
    return tuple(Note(advice) for advice in found)[:1]
