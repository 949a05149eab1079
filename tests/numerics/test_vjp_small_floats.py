"""Gradients of 16- and 8-bit floats: computed in F32 from unrounded results, rounded once."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import ml_dtypes
import numpy as np
import pytest

import kina
from kina.arrays import Array, numpy_dtype
from kina.dtypes import DTYPES

DTYPES_TESTED = ("F16", "BF16", "F8E4M3", "F8E5M2")


def softmax(x: Array) -> Array:
    power = np.exp(x - x.max(1, keepdims=True))
    return power / power.sum(1, keepdims=True)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


NORMAL = np.vectorize(lambda x: (1 + math.erf(x / math.sqrt(2))) / 2, otypes=[np.float64])


def total(x: Array) -> Array:
    return x.sum(1, keepdims=True)


GRADIENTS: dict[str, Callable[[Array, Array, Array], Array]] = {
    "exp": lambda x, y, ct: ct * np.exp(x),
    "expm1": lambda x, y, ct: ct * np.exp(x),
    "log1p": lambda x, y, ct: ct / (1 + x),
    "tanh": lambda x, y, ct: ct / np.cosh(x) ** 2,
    "erf": lambda x, y, ct: ct * 2 / np.sqrt(np.pi) * np.exp(-x * x),
    "sqrt": lambda x, y, ct: ct / (2 * np.sqrt(x)),
    "div": lambda x, y, ct: -ct * x / y**2,
    "softmax": lambda x, y, ct: softmax(x) * (ct - total(ct * softmax(x))),
    "log_softmax": lambda x, y, ct: ct - softmax(x) * total(ct),
}
"""By x, but that of the division by y."""

GRADIENTS.update(
    sigmoid=lambda x, y, ct: ct * sigmoid(x) * sigmoid(-x),
    silu=lambda x, y, ct: ct * sigmoid(x) * (1 + x * sigmoid(-x)),
    gelu=lambda x, y, ct: ct * (NORMAL(x) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi)),
)
BODIES = {"softmax": "x.softmax(axis=1)", "log_softmax": "x.log_softmax(axis=1)", "div": "x / y"}


def program(rule: str, dtype: str) -> str:
    """`NAME`, and its gradient `dNAME`."""
    kind = f"tensor<{dtype}, [N, V]>"
    body = BODIES.get(rule, f"{rule}(x)")
    return f"""let {rule}_of = fn(x: {kind}, y: {kind}) -> {kind} {{ {body} }}
    let d{rule} = reverseMode({rule}_of, wrt=[{"y" if rule == "div" else "x"}])"""


@cache
def module(dtype: str) -> kina.Module:
    """Every rule in one program."""
    return kina.compile("\n".join(program(rule, dtype) for rule in GRADIENTS), threads=False)


@pytest.mark.parametrize("dtype", DTYPES_TESTED)
@pytest.mark.parametrize("rule", GRADIENTS)
def test_a_rule_rounds_once(rule: str, dtype: str) -> None:
    """Half a unit in the last place, and what F32 loses: no rounded result is read on the way."""
    kind = numpy_dtype(DTYPES[dtype])
    info = ml_dtypes.finfo(kind)
    rng = np.random.default_rng(0)
    x, y = (rng.uniform(0.5, 2, (16, 7)).astype(kind) for _ in range(2))
    ct = rng.standard_normal((16, 7)).astype(kind)
    function = module(dtype)[f"d{rule}"]
    _, gradient = function(x, y, ct)
    exact = GRADIENTS[rule](*(array.astype(np.float64) for array in (x, y, ct)))
    half = float(info.eps) / 2 * np.abs(exact) + float(info.smallest_subnormal) / 2
    for got in (gradient, function.reference(x, y, ct)[1]):
        assert np.all(np.abs(got.astype(np.float64) - exact) <= half + 1e-5)


@pytest.mark.parametrize("dtype", ["F16", "BF16"])
def test_rows_of_the_gradient_of_a_loss_sum_to_zero(dtype: str) -> None:
    """50257 equal logits: exp of the logarithm rounded to BF16 was 1.2 % too large."""
    body = "-x.log_softmax(axis=1).take_along_axis(t, axis=1)"
    module = kina.compile(f"""
    let f = fn(x: tensor<{dtype}, [N, V]>, t: tensor<I64, [N]>) -> tensor<{dtype}, [N]> {{ {body} }}
    let df = reverseMode(f, wrt=[x])""")
    kind = numpy_dtype(DTYPES[dtype])
    x, t, ct = np.zeros((1, 50257), kind), np.array([5]), np.ones(1, kind)
    slope = module.df(x, t, ct)[1].astype(np.float64)
    assert slope[0, 5] == -1
    nearest = float(np.array(1 / 50257).astype(kind))
    assert set(np.delete(slope[0], 5)) == {nearest}
    # Each of the others is 0.05 % off, as near as the dtype comes.
    assert abs(slope.sum()) < 5.1e-4
    assert np.array_equal(slope, module.df.reference(x, t, ct)[1].astype(np.float64))


@pytest.mark.parametrize("dtype", DTYPES_TESTED)
def test_equal_cotangents_have_no_gradient_through_softmax(dtype: str) -> None:
    """Probabilities rounded to the dtype do not sum to 1: their sum took part in the difference."""
    kind = numpy_dtype(DTYPES[dtype])
    function = module(dtype).dsoftmax
    x = np.zeros((2, 1000), kind)
    _, slope = function(x, x, np.ones_like(x))
    assert np.max(np.abs(slope.astype(np.float64))) < 1e-9


@pytest.mark.parametrize("rule", GRADIENTS)
def test_nothing_is_computed_twice(rule: str) -> None:
    """What the rule reads in F32 is what the forward operation computes: they are one."""

    def operations(dtype: str) -> list[str]:
        functions = module(dtype).mlir("linalg").split("func.func @")
        (lines,) = (text.splitlines() for text in functions if text.startswith(f"d{rule}("))
        words = ("math.", "arith.divf", "arith.maximumf")
        return sorted(w for line in lines for w in words if w in line)

    assert operations("BF16") == operations("F32")
