"""Gradients of elementwise operations and casts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import pi
from math import sqrt as sqrt_of

from xdsl.ir import SSAValue

from kina.dialects.choice import SelectOp
from kina.dialects.elementwise import (
    AddOp,
    BinaryOp,
    CastOp,
    ClampOp,
    DivOp,
    ExpOp,
    LogOp,
    MulOp,
    NegOp,
    SubOp,
    UnaryOp,
)
from kina.dialects.functions import AbsOp, ErfOp, Expm1Op, Log1pOp, SqrtOp, TanhOp
from kina.passes.tensor_builder import type_of
from kina.passes.vjp.builder import GradientBuilder, Partial, Rule, Share

ELEMENTWISE: dict[str, Rule] = {}
"""The rule of each elementwise operation, by its name in the op table."""


def rule_of(name: str) -> Callable[[Rule], Rule]:
    """Enters a function as the rule of an operation."""

    def enter(rule: Rule) -> Rule:
        ELEMENTWISE[name] = rule
        return rule

    return enter


@rule_of("neg")
def neg(b: GradientBuilder, op: NegOp, ct: SSAValue) -> Sequence[Partial]:
    """`-ct`."""
    return [lambda: b.neg(ct)]


@rule_of("exp")
def exp(b: GradientBuilder, op: ExpOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct * y`."""
    return [lambda: b.cast(b.mul(b.widen(ct), b.wide_result(op)), type_of(ct).dtype)]


@rule_of("log")
def log(b: GradientBuilder, op: LogOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct / x`."""
    return [lambda: b.div(ct, op.operand)]


@rule_of("expm1")
def expm1(b: GradientBuilder, op: Expm1Op, ct: SSAValue) -> Sequence[Partial]:
    """`ct * exp(x)`: `y + 1` would lose what is left of it where y is near -1."""
    return [
        lambda: b.rounded(b.mul(b.widen(ct), b.emit(ExpOp(b.widen(op.operand)))), ct),
    ]


@rule_of("log1p")
def log1p(b: GradientBuilder, op: Log1pOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct / (1 + x)`."""

    def operand() -> SSAValue:
        wide = b.widen(op.operand)
        return b.rounded(b.div(b.widen(ct), b.add(wide, b.number(1.0, type_of(wide)))), ct)

    return [operand]


@rule_of("tanh")
def tanh(b: GradientBuilder, op: TanhOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct * ((1 - y) * (1 + y))`: where y is near 1, the first factor is exact."""

    def operand() -> SSAValue:
        result = b.wide_result(op)
        one = b.number(1.0, type_of(result))
        slope = b.mul(b.sub(one, result), b.add(one, result))
        return b.rounded(b.mul(b.widen(ct), slope), ct)

    return [operand]


@rule_of("erf")
def erf(b: GradientBuilder, op: ErfOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct * (2 / sqrt(pi) * exp(-x * x))`."""

    def operand() -> SSAValue:
        wide = b.widen(op.operand)
        bell = b.exp_of_nonpositive(b.neg(b.mul(wide, wide)))
        slope = b.mul(b.number(2 / sqrt_of(pi), type_of(wide)), bell)
        return b.rounded(b.mul(b.widen(ct), slope), ct)

    return [operand]


@rule_of("sqrt")
def sqrt(b: GradientBuilder, op: SqrtOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct / (y + y)`: the sum is exact."""

    def operand() -> SSAValue:
        result = b.wide_result(op)
        share = b.div(b.widen(ct), b.add(result, result))
        return b.cast(share, type_of(ct).dtype)

    return [operand]


@rule_of("add")
def add(b: GradientBuilder, op: AddOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct`, twice."""
    return [lambda: ct, lambda: ct]


@rule_of("sub")
def sub(b: GradientBuilder, op: SubOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct` and `-ct`."""
    return [lambda: ct, lambda: b.neg(ct)]


@rule_of("mul")
def mul(b: GradientBuilder, op: MulOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct` times the other operand."""
    return [lambda: b.mul(ct, op.right), lambda: b.mul(ct, op.left)]


@rule_of("div")
def div(b: GradientBuilder, op: DivOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct / r`, and `-(ct / r) * (l / r)`."""

    def right() -> SSAValue:
        quotient = b.div(b.widen(ct), b.widen(op.right))
        share = b.neg(b.mul(quotient, b.wide_result(op)))
        return b.cast(share, type_of(ct).dtype)

    return [lambda: b.div(ct, op.right), right]


@rule_of("abs")
def absolute(b: GradientBuilder, op: AbsOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct` times the sign of x: 0 at 0, NaN at NaN."""

    def operand() -> SSAValue:
        zero = b.zeros(op.operand)
        rest = b.select(b.named("greater", op.operand, zero), ct, b.mul(ct, op.operand))
        return b.select(b.named("less", op.operand, zero), b.neg(ct), rest)

    return [operand]


def _no_gradient(b: GradientBuilder, op: UnaryOp, ct: SSAValue) -> Sequence[Partial]:
    """Constant between the steps, or said to be constant."""
    return [None]


for _name in ("floor", "ceil", "round", "stop_gradient"):
    rule_of(_name)(_no_gradient)


@rule_of("maximum")
def maximum(b: GradientBuilder, op: BinaryOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct` to the larger, half of it to each of two equal ones; NaNs tie with NaN."""
    return _extreme(b, op, ct, "greater_equal")


@rule_of("minimum")
def minimum(b: GradientBuilder, op: BinaryOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct` to the smaller, half of it to each of two equal ones; NaNs tie with NaN."""
    return _extreme(b, op, ct, "less_equal")


def _extreme(b: GradientBuilder, op: BinaryOp, ct: SSAValue, relation: str) -> Sequence[Partial]:
    def wins(mine: SSAValue, other: SSAValue) -> SSAValue:
        return b.logical_or(b.named(relation, mine, other), b.is_nan(mine))

    def share(mine: SSAValue, other: SSAValue) -> Share:
        chosen = wins(mine, other)
        half = b.mul(ct, b.number(0.5, type_of(ct)))
        value = b.select(wins(other, mine), half, ct)
        return b.where(chosen, value)

    return [lambda: share(op.left, op.right), lambda: share(op.right, op.left)]


@rule_of("clamp")
def clamp(b: GradientBuilder, op: ClampOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct` to x where it lies within the limits, which belong to it; else to the limit."""

    def inside() -> Share:
        outside = b.logical_or(below(), above())
        return b.where(b.named("logical_not", outside), ct)

    def below() -> SSAValue:
        return b.named("less", op.operand, op.low)

    def above() -> SSAValue:
        return b.named("greater", b.named("maximum", op.operand, op.low), op.high)

    def low() -> Share:
        chosen = b.logical_and(below(), b.named("logical_not", above()))
        return b.where(chosen, ct)

    return [inside, low, lambda: b.where(above(), ct)]


@rule_of("select")
def select(b: GradientBuilder, op: SelectOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct` where the operand was chosen, exact zeros elsewhere."""
    return [
        None,
        lambda: b.where(op.condition, ct),
        lambda: b.where(b.named("logical_not", op.condition), ct),
    ]


def cast(b: GradientBuilder, op: CastOp, ct: SSAValue) -> Sequence[Partial]:
    """`ct` in the operand's dtype; only floats come here."""
    return [lambda: b.cast(ct, type_of(op.operand).dtype)]
