"""Floats as integers of the same order, so that max and min are one instruction each.

The bits of an f32, with all but the sign flipped for negative numbers, compare as signed integers
in the order -inf < … < -0.0 < +0.0 < … < +inf. NaNs lie beyond both ends, by their sign.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import SSAValue

from kina.passes.builder import Builder
from kina.passes.lowering.context import Lowering
from kina.passes.lowering.generic import generic, whole
from kina.types import Dim

TOP = (1 << 31) - 1
"""Above +inf; the image of a NaN."""
BOTTOM = -(1 << 31)
"""Below -inf; the image of a NaN."""


def image_of(value: float) -> int:
    """The integer image of a float32 value."""
    (bits,) = struct.unpack("<i", struct.pack("<f", value))
    return bits ^ TOP if bits < 0 else bits


def _flip(body: Builder, bits: SSAValue) -> SSAValue:
    """Its own inverse: from bits to the image and back."""
    sign = body.value(arith.ShRSIOp(bits, body.integer(31, i32)))
    mask = body.value(arith.AndIOp(sign, body.integer(TOP, i32)))
    return body.value(arith.XOrIOp(bits, mask))


def image(body: Builder, value: SSAValue) -> SSAValue:
    """The integer image of an f32."""
    return _flip(body, body.value(arith.BitcastOp(value, i32)))


def image_with_nan(body: Builder, value: SSAValue, nan: int) -> SSAValue:
    """The integer image, with `nan` for every NaN."""
    is_nan = body.compare("uno", value, value)
    return body.select(is_nan, body.integer(nan, i32), image(body, value))


def from_images(state: Lowering, images: SSAValue, dims: tuple[Dim, ...]) -> SSAValue:
    """The tensor of the f32 values behind a tensor of images."""

    def body(inner: Builder, elements: Sequence[SSAValue]) -> list[SSAValue]:
        return [inner.value(arith.BitcastOp(_flip(inner, elements[0]), f32))]

    output = whole(state.empty(f32, dims))
    return generic(state.builder, len(dims), [whole(images)], [output], body)[0]
