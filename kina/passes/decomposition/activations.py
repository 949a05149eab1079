"""The elementwise composites in F32; their gradients read the same intermediate values.

None overflows on the way: exp is taken of -|x| only, and an infinite x, which a factor of 0 would
make a NaN, counts as the largest number.
"""

from __future__ import annotations

from math import pi, sqrt

from xdsl.ir import SSAValue

from kina.dialects.base import KinaOp
from kina.frozen import frozen
from kina.passes.tensor_builder import TensorBuilder

LARGEST = (2 - 2.0**-23) * 2.0**127
CUBIC = 0.044715
SLOPE = 2 * sqrt(2 / pi)
"""gelu_tanh is `x * sigmoid(SLOPE * (x + CUBIC * x^3))`."""


@frozen(slots=True)
class Logistic:
    """What the logistic functions of x are made of."""

    builder: TensorBuilder
    x: SSAValue
    power: SSAValue
    """exp(-|x|)."""
    total: SSAValue
    """1 + exp(-|x|)."""

    def sigmoid(self) -> SSAValue:
        """`1 / (1 + exp(-x))`, from the side on which nothing overflows."""
        return self._quotient("less")

    def complement(self) -> SSAValue:
        """`sigmoid(-x)`."""
        return self._quotient("greater")

    def slope(self) -> SSAValue:
        """`sigmoid(x) * sigmoid(-x)`."""
        b = self.builder
        return b.div(b.div(self.power, self.total), self.total)

    def _quotient(self, small_where: str) -> SSAValue:
        b = self.builder
        is_small = b.named(small_where, self.x, b.like(0.0, self.x))
        return b.div(b.named("select", is_small, self.power, b.like(1.0, self.x)), self.total)


def logistic(b: TensorBuilder, x: SSAValue) -> Logistic:
    """Of an x in F32."""
    power = b.exp_of_nonpositive(b.neg(b.named("abs", x)))
    return Logistic(b, x, power, b.add(b.like(1.0, x), power))


def finite(b: TensorBuilder, x: SSAValue) -> SSAValue:
    """x, an infinity as the largest number of its sign."""
    return limited(b, x, LARGEST)


def limited(b: TensorBuilder, x: SSAValue, bound: float) -> SSAValue:
    """x within -bound .. bound; a NaN stays."""
    raised = b.named("maximum", x, b.like(-bound, x))
    return b.named("minimum", raised, b.like(bound, x))


def sigmoid(b: TensorBuilder, op: KinaOp) -> SSAValue:
    """One exp and one division."""
    return logistic(b, op.operands[0]).sigmoid()


def log_sigmoid(b: TensorBuilder, op: KinaOp) -> SSAValue:
    """`minimum(x, 0) - log1p(exp(-|x|))`."""
    x = op.operands[0]
    return b.sub(b.named("minimum", x, b.like(0.0, x)), _rest(b, x))


def softplus(b: TensorBuilder, op: KinaOp) -> SSAValue:
    """`maximum(x, 0) + log1p(exp(-|x|))`."""
    x = op.operands[0]
    return b.add(b.named("maximum", x, b.like(0.0, x)), _rest(b, x))


def _rest(b: TensorBuilder, x: SSAValue) -> SSAValue:
    return b.named("log1p", b.exp_of_nonpositive(b.neg(b.named("abs", x))))


def silu(b: TensorBuilder, op: KinaOp) -> SSAValue:
    """`x * sigmoid(x)`."""
    x = op.operands[0]
    return b.mul(_not_below(b, x), logistic(b, x).sigmoid())


def gelu(b: TensorBuilder, op: KinaOp) -> SSAValue:
    """`(x / 2) * (1 + erf(x / sqrt(2)))`."""
    x = op.operands[0]
    half = b.mul(_not_below(b, x), b.like(0.5, x))
    return b.mul(half, twice_normal(b, x))


def twice_normal(b: TensorBuilder, x: SSAValue) -> SSAValue:
    """`1 + erf(x / sqrt(2))`: twice the share of a normal distribution below x."""
    return b.add(b.like(1.0, x), b.named("erf", b.mul(x, b.like(sqrt(0.5), x))))


def gelu_tanh(b: TensorBuilder, op: KinaOp) -> SSAValue:
    """`x * sigmoid(u)`, which is `x * (1 + tanh(u / 2)) / 2` without the cancellation."""
    x = op.operands[0]
    return b.mul(_not_below(b, x), logistic(b, gelu_tanh_argument(b, x)).sigmoid())


def gelu_tanh_argument(b: TensorBuilder, x: SSAValue) -> SSAValue:
    """`x * (SLOPE + SLOPE * CUBIC * x * x)`."""
    cubic = b.mul(b.like(SLOPE * CUBIC, x), b.mul(x, x))
    return b.mul(x, b.add(b.like(SLOPE, x), cubic))


def xlogy(b: TensorBuilder, op: KinaOp) -> SSAValue:
    """The product, where x is not 0."""
    x, y = op.operands
    zero = b.like(0.0, x)
    return b.named("select", b.named("equal", x, zero), zero, b.mul(x, b.named("log", y)))


def _not_below(b: TensorBuilder, x: SSAValue) -> SSAValue:
    """x, and the lowest number for -inf: its product with 0 is a zero."""
    return b.named("maximum", x, b.like(-LARGEST, x))
