"""Gradients of the elementwise composites: from exp(-|x|), so that none overflows or cancels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi, sqrt

from xdsl.ir import SSAValue

from kina.dialects.activations import XlogyOp
from kina.dialects.base import KinaOp
from kina.passes.decomposition.activations import (
    CUBIC,
    SLOPE,
    finite,
    gelu_tanh_argument,
    limited,
    logistic,
    twice_normal,
)
from kina.passes.vjp.builder import GradientBuilder, Partial, Rule

FAR = 32.0
"""From here on gelu_tanh and its slope do not change any more."""

Slope = Callable[[GradientBuilder, SSAValue], SSAValue]
"""The derivative at an x in F32."""


def _times_slope(slope: Slope) -> Rule:
    """`ct` times the derivative, in F32, rounded once."""

    def rule(b: GradientBuilder, op: KinaOp, ct: SSAValue) -> Sequence[Partial]:
        return [lambda: b.rounded(b.mul(b.widen(ct), slope(b, b.widen(op.operands[0]))), ct)]

    return rule


def _sigmoid(b: GradientBuilder, x: SSAValue) -> SSAValue:
    """`y * (1 - y)`, relative to itself as precise where y is near 1 as elsewhere."""
    return logistic(b, x).slope()


def _log_sigmoid(b: GradientBuilder, x: SSAValue) -> SSAValue:
    """`sigmoid(-x)`."""
    return logistic(b, x).complement()


def _softplus(b: GradientBuilder, x: SSAValue) -> SSAValue:
    """`sigmoid(x)`."""
    return logistic(b, x).sigmoid()


def _silu(b: GradientBuilder, x: SSAValue) -> SSAValue:
    """`s * (1 + x * (1 - s))` with the sigmoid s."""
    parts = logistic(b, x)
    growth = b.mul(finite(b, x), parts.complement())
    return b.mul(parts.sigmoid(), b.add(b.like(1.0, x), growth))


def _gelu(b: GradientBuilder, x: SSAValue) -> SSAValue:
    """The share of a normal distribution below x, and x times its density."""
    below = b.mul(b.like(0.5, x), twice_normal(b, x))
    half = b.mul(b.like(-0.5, x), b.mul(x, x))
    density = b.mul(b.like(1 / sqrt(2 * pi), x), b.exp_of_nonpositive(half))
    return b.add(below, b.mul(finite(b, x), density))


def _gelu_tanh(b: GradientBuilder, x: SSAValue) -> SSAValue:
    """`s + x * s * (1 - s) * du/dx` with the sigmoid s of u."""
    parts = logistic(b, gelu_tanh_argument(b, x))
    near = limited(b, x, FAR)
    cubic = b.mul(b.like(3 * SLOPE * CUBIC, x), b.mul(near, near))
    inner = b.add(b.like(SLOPE, x), cubic)
    return b.add(parts.sigmoid(), b.mul(b.mul(near, inner), parts.slope()))


SLOPES: dict[str, Slope] = {
    "sigmoid": _sigmoid,
    "log_sigmoid": _log_sigmoid,
    "softplus": _softplus,
    "silu": _silu,
    "gelu": _gelu,
    "gelu_tanh": _gelu_tanh,
}


def _xlogy(b: GradientBuilder, op: XlogyOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct * log(y)`, 0 where x is 0 and y is not above 0; `ct * (x / y)`, 0 where x is 0."""

    def left() -> SSAValue:
        x, y, wide = (b.widen(value) for value in (op.left, op.right, ct))
        zero = b.like(0.0, x)
        kept = b.mul(wide, b.named("log", y))
        nowhere = b.named("select", b.named("greater", y, zero), kept, zero)
        return b.rounded(b.named("select", b.named("equal", x, zero), nowhere, kept), ct)

    def right() -> SSAValue:
        x, y, wide = (b.widen(value) for value in (op.left, op.right, ct))
        zero = b.like(0.0, x)
        share = b.mul(wide, b.div(x, y))
        return b.rounded(b.named("select", b.named("equal", x, zero), zero, share), ct)

    return [left, right]


ACTIVATIONS: dict[str, Rule] = {
    **{name: _times_slope(slope) for name, slope in SLOPES.items()},
    "xlogy": _xlogy,
}
"""The rule of each elementwise composite, by its name in the op table."""
