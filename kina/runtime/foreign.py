"""Arrays of other libraries as NumPy arrays that share their memory."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from kina.arrays import Array
from kina.errors import Diagnostic, KinaTypeError, KinaValueError, Note

_DLPACK_CPU = 1


def as_ndarray(what: str, value: Any) -> Array:
    """`value` as a NumPy array without a copy; `what` names it in errors.

    Takes NumPy arrays and scalars, and whatever has `__array_interface__` or, on the CPU,
    `__dlpack__`. Raises `KinaTypeError` for anything else (lists and Python numbers have no
    dtype to check) and for masked arrays, `KinaValueError` for memory that cannot be shared.
    """
    if isinstance(value, np.ma.MaskedArray):
        note = Note("pass x.filled(value), or a tensor of weights for the mask")
        raise KinaTypeError(
            Diagnostic(f"{what}: a masked array's mask would be lost", notes=(note,))
        )
    if isinstance(value, np.ndarray):
        return cast(Array, value)
    if hasattr(value, "__array_interface__"):
        return np.asarray(value)
    if hasattr(value, "__dlpack__"):
        return _from_dlpack(what, value)
    note = Note("make an array of it: np.asarray(x, dtype=…)")
    came = type(value).__name__
    raise KinaTypeError(Diagnostic(f"{what}: expected an array, got {came}", notes=(note,)))


def _from_dlpack(what: str, value: Any) -> Array:
    device, _ = value.__dlpack_device__()
    if int(device) != _DLPACK_CPU:
        note = Note("copy it to the CPU first, for example x.cpu()")
        raise KinaValueError(
            Diagnostic(f"{what}: the array is not in the memory of the CPU", notes=(note,))
        )
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        notes = (Note(f"{type(value).__name__} says: {error}"), *_advice(str(error)))
        raise KinaValueError(
            Diagnostic(f"{what}: the array cannot be shared through DLPack", notes=notes)
        ) from None


def _advice(message: str) -> tuple[Note, ...]:
    if "grad" in message:
        return (Note("Kina does not record gradients: pass x.detach()"),)
    if "dtype" in message.lower() or "type" in message.lower():
        view = "x.view(torch.int16).numpy().view(ml_dtypes.bfloat16)"
        return (Note(f"NumPy has no such DLPack dtype; for a torch bfloat16 tensor pass {view}"),)
    return ()
