"""The dtype table: one row per Kina dtype, read by every other part.

A leaf: it names MLIR and NumPy types as text, so that reading it loads neither xDSL nor NumPy.
"""

from __future__ import annotations

from enum import Enum

from kina.frozen import frozen


class Kind(Enum):
    """What family of numbers a dtype holds."""

    FLOAT = "float"
    INT = "int"
    BOOL = "bool"


@frozen(slots=True, eq=False)
class DType:
    """One element type of the language: a row of the table, compared by identity."""

    name: str
    """The name in `.kina` source."""
    kind: Kind
    bits: int
    mlir: str
    """The MLIR element type."""
    numpy: str
    """`module.name` of the NumPy scalar type."""
    c: str
    """The C type of one element at rest; a small float is its bits."""
    lowest: str
    """The identity of max: the value no other is below (`-inf` where it exists)."""
    highest: str
    """The identity of min."""
    storage_bits: int
    """Bits of one element at rest: I4 and Bool take a whole byte."""

    @property
    def is_float(self) -> bool:
        """True for the seeds' frem set."""
        return self.kind is Kind.FLOAT

    @property
    def is_int(self) -> bool:
        """True for the signed integers, not for Bool."""
        return self.kind is Kind.INT

    @property
    def is_small_float(self) -> bool:
        """True for 16- and 8-bit floats, whose arithmetic is F32 rounded once."""
        return self.is_float and self.bits < 32

    @property
    def compute(self) -> DType:
        """The dtype in which one operation computes."""
        return F32 if self.is_small_float else self

    def __str__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[object, tuple[str]]:
        """Pickled, it is the same row again."""
        return _row, (self.name,)


def _row(name: str) -> DType:
    return DTYPES[name]


def _float(name: str, bits: int, mlir: str, numpy: str, c: str, largest: str = "inf") -> DType:
    return DType(name, Kind.FLOAT, bits, mlir, numpy, c, f"-{largest}", largest, bits)


def _int(bits: int, numpy: str) -> DType:
    low, high = str(-(1 << (bits - 1))), str((1 << (bits - 1)) - 1)
    at_rest = max(bits, 8)
    return DType(
        f"I{bits}", Kind.INT, bits, f"i{bits}", numpy, f"int{at_rest}_t", low, high, at_rest
    )


F32 = _float("F32", 32, "f32", "numpy.float32", "float")
F16 = _float("F16", 16, "f16", "numpy.float16", "uint16_t")
BF16 = _float("BF16", 16, "bf16", "ml_dtypes.bfloat16", "uint16_t")
F8E4M3 = _float("F8E4M3", 8, "f8E4M3FN", "ml_dtypes.float8_e4m3fn", "uint8_t", "448")
F8E5M2 = _float("F8E5M2", 8, "f8E5M2", "ml_dtypes.float8_e5m2", "uint8_t")
I64 = _int(64, "numpy.int64")
I32 = _int(32, "numpy.int32")
I16 = _int(16, "numpy.int16")
I8 = _int(8, "numpy.int8")
I4 = _int(4, "ml_dtypes.int4")
BOOL = DType("Bool", Kind.BOOL, 1, "i1", "numpy.bool", "uint8_t", "false", "true", 8)

DTYPES: dict[str, DType] = {
    dtype.name: dtype for dtype in (F16, BF16, F32, F8E4M3, F8E5M2, I64, I32, I16, I8, I4, BOOL)
}
"""Every dtype by its Kina name, in the order of the specification."""

RESERVED: dict[str, str] = {"F64": "F64 is reserved by the specification and not implemented yet"}
"""Names that are dtypes of the specification but not of this compiler, and what to say."""

FREM = frozenset(dtype.name for dtype in DTYPES.values() if dtype.is_float)
"""The seeds' *frem*: the implemented floating set."""
INTS = frozenset(dtype.name for dtype in DTYPES.values() if dtype.is_int)
NUMERIC = FREM | INTS
BOOLS = frozenset({BOOL.name})
ANY = NUMERIC | BOOLS
