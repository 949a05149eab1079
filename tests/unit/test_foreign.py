"""Arrays of other libraries and unusual NumPy arrays: each is right or refused (docs/abi.md)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kina

PROGRAM = "let double = fn(x: tensor<F32, [4]>) -> tensor<F32, [4]> { x + x }"
X = np.array([1, 2, 3, 4], np.float32)
DOUBLE = [2, 4, 6, 8]


@pytest.fixture(scope="module")
def double() -> Any:
    return kina.compile(PROGRAM)["double"]


class Exported:
    """A tensor that shares its memory through DLPack; `device` and `capsule` may be functions."""

    def __init__(self, device: Any = (1, 0), capsule: Any = None) -> None:
        self._device = device
        self._capsule = capsule

    def __dlpack_device__(self) -> Any:
        return self._device() if callable(self._device) else self._device

    def __dlpack__(self, **options: Any) -> Any:
        if self._capsule is None:
            return X.__dlpack__(**options)
        return self._capsule() if callable(self._capsule) else self._capsule


class Negated(Exported):
    """As PyTorch's `x.conj().imag`: its memory holds `X`, its values are `-X`."""

    def is_neg(self) -> bool:
        return True

    def resolve_neg(self) -> np.ndarray:
        return -X


class Lazy(Exported):
    """A tensor without the negative bit, but with a word for it."""

    def is_neg(self) -> bool:
        return False


class Described:
    """An array of which `__array_interface__` says what it is."""

    def __init__(self, **changed: Any) -> None:
        self.__array_interface__ = {**X.__array_interface__, **changed}


class Garbage:
    """What is no description of an array."""

    def __init__(self, described: Any) -> None:
        self.__array_interface__ = described


class Fails:
    """An attribute that cannot even be looked at."""

    @property
    def __array_interface__(self) -> Any:
        raise RuntimeError("no interface today")


class FailsToo:
    """The same for DLPack."""

    @property
    def __dlpack__(self) -> Any:
        raise RuntimeError("no capsule today")


class NoDevice:
    """Half of the protocol."""

    def __dlpack__(self) -> Any:
        return X.__dlpack__()


class Liar(np.ndarray):
    """A subclass that says that it is what is wanted."""

    @property
    def dtype(self) -> Any:
        return X.dtype

    @property
    def shape(self) -> Any:
        return X.shape


class Plain(np.ndarray):
    """A subclass that changes nothing."""


def failing(error: BaseException) -> Callable[[], Any]:
    def fail() -> Any:
        raise error

    return fail


RIGHT: dict[str, Any] = {
    "capsule": Exported(),
    "pinned for a device": Exported(device=(3, 0)),
    "pinned for another": Exported(device=(11, 0)),
    "device as an object": Exported(device=(np.int32(1), 0)),
    "not negated": Lazy(),
    "described": Described(),
    "described, read-only": Described(data=(X.ctypes.data, True)),
    "subclass": X.view(Plain),
    "record array": np.rec.array(X),
    "field of a structure": np.array([(v, 0) for v in X], [("a", "f4"), ("b", "i1")])["a"],
    "dtype with metadata": X.astype(np.dtype("f4", metadata={"unit": "m"})),
    "backwards": X[::-1].copy()[::-1],
    "strided": np.repeat(X, 2)[::2],
    "misaligned": np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float32),
    "read-only": np.frombuffer(X.tobytes(), np.float32),
}


@pytest.mark.parametrize("kind", RIGHT)
def test_right(double: Any, kind: str) -> None:
    np.testing.assert_array_equal(double(RIGHT[kind]), DOUBLE)
    np.testing.assert_array_equal(double.reference(RIGHT[kind]), DOUBLE)


def test_a_negative_bit_is_resolved(double: Any) -> None:
    np.testing.assert_array_equal(double(Negated()), [-2, -4, -6, -8])
    np.testing.assert_array_equal(double.reference(Negated()), [-2, -4, -6, -8])


def test_a_negative_bit_in_out_is_refused(double: Any) -> None:
    with pytest.raises(kina.KinaValueError, match=r"out: .* negated\n.*x\.resolve_neg\(\)"):
        double(X, out=Negated())


@pytest.mark.parametrize("repeated", [np.broadcast_to(np.float32(3), (4,)), X[:1].repeat(1)])
def test_overlapping_elements(double: Any, repeated: np.ndarray) -> None:
    """Read as they are; never written."""
    overlapping = np.lib.stride_tricks.as_strided(repeated, (4,), (0,))
    np.testing.assert_array_equal(double(overlapping), [2 * repeated[0]] * 4)
    with pytest.raises(kina.KinaValueError, match=r"read-only|C order"):
        double(X, out=overlapping)


FAILED = "the array cannot be shared: {} failed"
DEVICE, CAPSULE, INTERFACE = map(
    FAILED.format, ("__dlpack_device__", "__dlpack__", "__array_interface__")
)
WRONG_DTYPE = "expected dtype float32 (F32), got "

REFUSED: dict[str, tuple[Any, type[kina.KinaError], str]] = {
    "device raises": (Exported(failing(ValueError("no"))), kina.KinaValueError, DEVICE),
    "device is a number": (Exported(1), kina.KinaValueError, DEVICE),
    "device is None": (Exported([None]), kina.KinaValueError, DEVICE),
    "device is a word": (Exported(("cpu", 0)), kina.KinaValueError, DEVICE),
    "device is three things": (Exported((1, 0, 0)), kina.KinaValueError, DEVICE),
    "no device": (NoDevice(), kina.KinaValueError, DEVICE),
    "a class": (Exported, kina.KinaValueError, DEVICE),
    "another device": (Exported((2, 0)), kina.KinaValueError, "not in the memory of the CPU"),
    "managed memory": (Exported((13, 0)), kina.KinaValueError, "not in the memory of the CPU"),
    "capsule is a number": (Exported(capsule=5), kina.KinaValueError, CAPSULE),
    "capsule: KeyError": (Exported(capsule=failing(KeyError("a"))), kina.KinaValueError, CAPSULE),
    "capsule: assertion": (
        Exported(capsule=failing(AssertionError())),
        kina.KinaValueError,
        "Exported says: AssertionError",
    ),
    "capsule: not there": (
        Exported(capsule=failing(NotImplementedError("Cannot access storage of OpaqueTensorImpl"))),
        kina.KinaValueError,
        "pass x.to_dense()",
    ),
    "capsule: quantised": (
        Exported(capsule=failing(BufferError("QUInt/QInt types are not supported by dlpack"))),
        kina.KinaValueError,
        "pass x.dequantize()",
    ),
    "capsule: conjugate": (
        Exported(capsule=failing(BufferError("tensors with the conjugate bit set"))),
        kina.KinaValueError,
        "pass x.resolve_conj()",
    ),
    "device: meta": (
        Exported(failing(ValueError("Unknown device type meta for Dlpack"))),
        kina.KinaValueError,
        "a meta tensor has a shape but no values",
    ),
    "capsule attribute raises": (FailsToo(), kina.KinaValueError, "no capsule today"),
    "interface raises": (Fails(), kina.KinaValueError, "RuntimeError: no interface today"),
    "interface is None": (Garbage(None), kina.KinaValueError, INTERFACE),
    "interface is empty": (Garbage({}), kina.KinaValueError, INTERFACE),
    "interface is text": (Garbage("array"), kina.KinaValueError, INTERFACE),
    "wrong shape in it": (Described(shape="4"), kina.KinaValueError, INTERFACE),
    "negative shape": (Described(shape=(-4,)), kina.KinaValueError, INTERFACE),
    "unknown type": (Described(typestr="<q9"), kina.KinaValueError, INTERFACE),
    "null": (Described(data=(0, False)), kina.KinaValueError, INTERFACE),
    "strides of another rank": (Described(strides=(4, 4)), kina.KinaValueError, INTERFACE),
    "masked elsewhere": (Described(mask=Described()), kina.KinaTypeError, "mask would be lost"),
    "masked": (np.ma.masked_array(X), kina.KinaTypeError, "mask would be lost"),
    "the masked constant": (np.ma.masked, kina.KinaTypeError, "mask would be lost"),
    "lying subclass": (
        np.ones(1, np.float64).view(Liar),
        kina.KinaTypeError,
        WRONG_DTYPE + "float64",
    ),
    "other byte order": (X.astype(">f4"), kina.KinaTypeError, WRONG_DTYPE + ">f4 (the other byte"),
    "structure": (np.zeros(4, [("a", "f4")]), kina.KinaTypeError, WRONG_DTYPE + "[('a', '<f4')]"),
    "objects": (np.array([*X], object), kina.KinaTypeError, WRONG_DTYPE + "object"),
    "text": (np.array(["1"] * 4), kina.KinaTypeError, WRONG_DTYPE + "<U1"),
    "strings": (np.array(["1"] * 4, np.dtypes.StringDType()), kina.KinaTypeError, WRONG_DTYPE),
    "bytes": (np.zeros(4, "V4"), kina.KinaTypeError, WRONG_DTYPE + "|V4"),
    "dates": (np.zeros(4, "M8[s]"), kina.KinaTypeError, WRONG_DTYPE + "datetime64[s]"),
    "complex": (np.zeros(4, complex), kina.KinaTypeError, WRONG_DTYPE + "complex128"),
    "memory": (memoryview(X), kina.KinaTypeError, "expected an array, got memoryview"),
    "scalar": (np.float32(1), kina.KinaValueError, "expected shape [4], got []"),
    "the class of arrays": (np.ndarray, kina.KinaTypeError, WRONG_DTYPE + "object"),
}


@pytest.mark.parametrize("way", ["argument", "out", "reference"])
@pytest.mark.parametrize("kind", REFUSED)
def test_refused(double: Any, kind: str, way: str) -> None:
    value, error, message = REFUSED[kind]
    calls: dict[str, Callable[[], Any]] = {
        "argument": lambda: double(value),
        "out": lambda: double(X, out=value),
        "reference": lambda: double.reference(value),
    }
    with pytest.raises(error, match=re.escape(message)) as caught:
        calls[way]()
    assert str(caught.value).startswith("double: " + ("out" if way == "out" else "parameter 'x'"))


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_a_matrix_has_two_dimensions(double: Any) -> None:
    with pytest.raises(kina.KinaValueError, match=re.escape("expected shape [4], got [1, 4]")):
        double(np.matrix(X))


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(), MemoryError()])
def test_what_is_not_an_error_of_the_array_passes(double: Any, error: BaseException) -> None:
    with pytest.raises(type(error)):
        double(Exported(capsule=failing(error)))


def test_no_memory_behind_the_tensor(double: Any) -> None:
    """PyTorch exports a null pointer for tensors without storage; NumPy gives it memory."""
    import ctypes

    names = ctypes.pythonapi
    names.PyCapsule_New.restype = ctypes.py_object
    names.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    shape = (ctypes.c_int64 * 1)(4)
    # data, device, ndim, dtype (code, bits, lanes), shape, strides, offset, context, deleter.
    tensor = (ctypes.c_uint64 * 8)(0, 1, 1 | (2 | 32 << 8 | 1 << 16) << 32, ctypes.addressof(shape))

    def capsule() -> Any:
        return names.PyCapsule_New(ctypes.addressof(tensor), b"dltensor", None)

    with pytest.raises(kina.KinaValueError, match="x': the Exported has no memory"):
        double(Exported(capsule=capsule))
    with pytest.raises(kina.KinaValueError, match="out: the Exported has no memory"):
        double(X, out=Exported(capsule=capsule))
