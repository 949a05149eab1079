"""xDSL's parser, which takes a hexadecimal element of a float constant for its bits.

xDSL reads such an element as a number, and prints infinities, NaN and every number of more digits
than it likes (-16777216.0) like that: it would read back another program.
"""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import AnyFloat, ComplexType, IndexType, IntegerType
from xdsl.parser import AttrParser, Parser

_HEX = "0x"


class BitsParser(Parser):
    """Reads what xDSL prints as it was."""

    def _parse_tensor_literal_element(self) -> AttrParser._TensorLiteralElement:
        """One element, which may be the bits of a float."""
        element = super()._parse_tensor_literal_element()
        is_bits = element.span.text[:2].lower() == _HEX and isinstance(element.value, int)
        return _Bits(element.is_negative, element.value, element.span) if is_bits else element


class _Bits(AttrParser._TensorLiteralElement):  # pyright: ignore[reportPrivateUsage]
    """An element in hexadecimal."""

    def to_type(
        self, parser: AttrParser, type: AnyFloat | IntegerType | IndexType | ComplexType
    ) -> Any:
        """The element as one of a type."""
        if not isinstance(type, AnyFloat):
            return super().to_type(parser, type)
        assert isinstance(self.value, int)
        if self.value.bit_length() > 8 * type.compile_time_size:
            parser.raise_error(f"{self.span.text} has more bits than {type}", self.span)
        raw = self.value.to_bytes(type.compile_time_size, "little")
        return next(type.iter_unpack(raw))
