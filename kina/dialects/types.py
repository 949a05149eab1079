"""Tensor types in IR: builtin tensors, with a layout encoding where MLIR has no word.

Symbolic dimension names and @device placement live in `#kina.layout`, which a static @host tensor
does not carry, so that most IR reads as plain MLIR.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias, cast

from xdsl.dialects import builtin
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, IntAttr, NoneAttr, StringAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from kina.dims import is_normal
from kina.dtypes import DTYPES, DType
from kina.types import Dim, Placement, TensorType

SYMBOL_NAME = "symbol_name"
"""The attribute of a function that has another name in a library, without the prefix."""

IRTensor: TypeAlias = builtin.TensorType[Attribute]

_ELEMENT_TYPES: dict[str, Attribute] = {
    "F16": builtin.f16,
    "BF16": builtin.bf16,
    "F32": builtin.f32,
    "F8E4M3": builtin.f8E4M3FN,
    "F8E5M2": builtin.f8E5M2,
    "Bool": builtin.i1,
    **{f"I{bits}": builtin.IntegerType(bits) for bits in (64, 32, 16, 8, 4)},
}

_BY_ELEMENT = {element: DTYPES[name] for name, element in _ELEMENT_TYPES.items()}

_PLACEMENTS = {placement.value: placement for placement in Placement}


def element_type(dtype: DType) -> Attribute:
    """The MLIR element type of a dtype."""
    return _ELEMENT_TYPES[dtype.name]


@irdl_attr_definition
class LayoutAttr(ParametrizedAttribute):
    """The symbolic dimension names and the placement of a tensor: `#kina.layout<["B", 8], host>`.

    An encoding of builtin tensor types; `lower-kina` removes it.
    """

    name = "kina.layout"

    dims: ArrayAttr[StringAttr | IntAttr]
    placement: StringAttr

    @classmethod
    def of(cls, dims: Sequence[Dim], placement: Placement) -> LayoutAttr:
        """The layout of a tensor with these dimensions."""
        shown = [StringAttr(dim) if isinstance(dim, str) else IntAttr(dim) for dim in dims]
        return cls(ArrayAttr(shown), StringAttr(placement.value))

    @property
    def dim_values(self) -> tuple[Dim, ...]:
        """The dimensions as the type rules see them."""
        return tuple(dim.data for dim in self.dims)

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Read `<[dims], placement>`."""
        with parser.in_angle_brackets():
            dims = parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: cls._parse_dim(parser)
            )
            parser.parse_punctuation(",")
            placement = parser.parse_identifier()
        return [ArrayAttr(dims), StringAttr(placement)]

    @staticmethod
    def _parse_dim(parser: AttrParser) -> StringAttr | IntAttr:
        name = parser.parse_optional_str_literal()
        return StringAttr(name) if name is not None else IntAttr(parser.parse_integer())

    def print_parameters(self, printer: Printer) -> None:
        """Write `<[dims], placement>`."""
        with printer.in_angle_brackets():
            with printer.in_square_brackets():
                printer.print_list(self.dims, lambda dim: _print_dim(printer, dim))
            printer.print_string(f", {self.placement.data}")

    def verify(self) -> None:
        """Refuse unknown placements and sizes below 1."""
        if self.placement.data not in _PLACEMENTS:
            raise VerifyException(
                f"placement is {self.placement.data}, expected one of {', '.join(_PLACEMENTS)}"
            )
        if any(isinstance(dim, int) and dim < 1 for dim in self.dim_values):
            raise VerifyException(f"dimensions are {self.dim_values}, expected sizes >= 1")
        for dim in self.dim_values:
            if isinstance(dim, str) and not is_normal(dim):
                raise VerifyException(
                    f'dimension "{dim}" is no normal form of a size, expected for example "N", '
                    '"T + 1" or "3 * D"'
                )


def _print_dim(printer: Printer, dim: StringAttr | IntAttr) -> None:
    if isinstance(dim, StringAttr):
        printer.print_string_literal(dim.data)
    else:
        printer.print_int(dim.data)


def to_ir(type_: TensorType) -> IRTensor:
    """The IR type of a Kina tensor type."""
    shape = [dim if isinstance(dim, int) else DYNAMIC_INDEX for dim in type_.dims]
    plain = type_.placement is Placement.HOST and not type_.symbols
    encoding = NoneAttr() if plain else LayoutAttr.of(type_.dims, type_.placement)
    return builtin.TensorType(element_type(type_.dtype), shape, encoding)


def from_ir(type_: Attribute) -> TensorType:
    """The Kina type of an IR tensor type; a `VerifyException` says why it has none."""
    if not isinstance(type_, builtin.TensorType):
        raise VerifyException(f"{type_} is not a tensor type")
    tensor = cast(IRTensor, type_)
    dtype = _BY_ELEMENT.get(tensor.element_type)
    if dtype is None:
        raise VerifyException(
            f"element type is {tensor.element_type}, expected one of "
            f"{', '.join(d.mlir for d in DTYPES.values())}"
        )
    dims, placement = _layout(tensor)
    return TensorType(dtype, dims, placement)


def _layout(tensor: IRTensor) -> tuple[tuple[Dim, ...], Placement]:
    shape, encoding = tensor.get_shape(), tensor.encoding
    if any(size < 1 and size != DYNAMIC_INDEX for size in shape):
        raise VerifyException(f"shape is {list(shape)}, expected every dimension to be at least 1")
    if isinstance(encoding, NoneAttr):
        if DYNAMIC_INDEX in shape:
            raise VerifyException(
                f"{tensor} has a dynamic dimension and no #kina.layout to name it"
            )
        return shape, Placement.HOST
    if not isinstance(encoding, LayoutAttr):
        raise VerifyException(f"encoding is {encoding}, expected #kina.layout")
    dims = encoding.dim_values
    if tuple(d if isinstance(d, int) else DYNAMIC_INDEX for d in dims) != shape:
        raise VerifyException(f"{tensor}: the layout's dimensions do not match the shape")
    return dims, _PLACEMENTS[encoding.placement.data]
