"""What only integers have: remainders and bits."""

from __future__ import annotations

from xdsl.irdl import irdl_op_definition

from kina.dialects.elementwise import BinaryOp


@irdl_op_definition
class RemOp(BinaryOp):
    """What truncating division leaves, with the sign of `x`; 0 where y is 0."""

    name = "kina.rem"


@irdl_op_definition
class BitAndOp(BinaryOp):
    """The bits that both have."""

    name = "kina.bit_and"


@irdl_op_definition
class BitOrOp(BinaryOp):
    """The bits that one has."""

    name = "kina.bit_or"


@irdl_op_definition
class BitXorOp(BinaryOp):
    """The bits that exactly one has."""

    name = "kina.bit_xor"


@irdl_op_definition
class ShiftLeftOp(BinaryOp):
    """`x * 2^y`, wrapped; 0 where y is negative or at least the width."""

    name = "kina.shift_left"


@irdl_op_definition
class ShiftRightOp(BinaryOp):
    """`x / 2^y`, rounded down: the sign comes in; all of it where y is negative or too large."""

    name = "kina.shift_right"
