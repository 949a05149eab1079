"""How a Kina dtype lies in a tensor, and how a loop body reads and writes it.

I4 and Bool are i8 at rest: bufferized i1 and i4 stores are not reliable in LLVM lowering. I4 is
sign-extended, Bool is 0 or 1; reading tolerates other bits. Small floats compute as f32.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, TensorType, f32, i8
from xdsl.ir import Attribute, SSAValue

from kina.dialects.types import IRTensor, element_type
from kina.dtypes import BOOL, I4, DType
from kina.passes.builder import Builder
from kina.types import Dim
from kina.types import TensorType as KinaType

I4_TYPE = IntegerType(4)


def storage_element(dtype: DType) -> Attribute:
    """The element type of a tensor of this dtype."""
    return i8 if dtype in (I4, BOOL) else element_type(dtype)


def storage_type(type_: KinaType) -> IRTensor:
    """The plain tensor type of a Kina tensor: no encoding, `?` for symbols."""
    return tensor_type(storage_element(type_.dtype), type_.dims)


def tensor_type(element: Attribute, dims: tuple[Dim, ...]) -> IRTensor:
    """A plain tensor type."""
    shape = [dim if isinstance(dim, int) else DYNAMIC_INDEX for dim in dims]
    return TensorType(element, shape)


def compute_element(dtype: DType) -> Attribute:
    """The scalar type that bodies compute this dtype in."""
    return element_type(dtype.compute)


Conversion = Callable[[Builder, SSAValue], SSAValue]

_LOADS: dict[str, Conversion] = {
    "Bool": lambda body, value: body.compare("ne", value, body.integer(0, i8)),
    "I4": lambda body, value: body.value(arith.TruncIOp(value, I4_TYPE)),
}
_STORES: dict[str, Conversion] = {
    "Bool": lambda body, value: body.value(arith.ExtUIOp(value, i8)),
    "I4": lambda body, value: body.value(arith.ExtSIOp(value, i8)),
}


def load(body: Builder, dtype: DType, value: SSAValue) -> SSAValue:
    """The element `value` of a tensor, as its compute type."""
    if dtype.is_small_float:
        return body.value(arith.ExtFOp(value, f32))
    return _LOADS[dtype.name](body, value) if dtype.name in _LOADS else value


def store(body: Builder, dtype: DType, value: SSAValue) -> SSAValue:
    """A computed `value` as an element of a tensor; a small float is rounded here."""
    if dtype.is_small_float:
        return body.value(arith.TruncFOp(value, element_type(dtype)))
    return _STORES[dtype.name](body, value) if dtype.name in _STORES else value
