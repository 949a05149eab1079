"""Comparisons and choices: values at the edges, and gradients of what was not chosen."""

from __future__ import annotations

import numpy as np
import pytest

import kina
from helpers.expect import Exact, check
from helpers.inputs import random_array
from kina.arrays import numpy_dtype
from kina.dtypes import DTYPES

nan, inf = np.nan, np.inf
X, ROWS = "tensor<F32, [N]>", "tensor<F32, [N, V]>"
FUNCTIONS = {
    # The branch that is not chosen is infinite or NaN, or its derivative is.
    "logarithm": f"(x: {X}) -> {X} {{ (x > 0).select(x.log(), 0) }}",
    "root": f"(x: {X}) -> {X} {{ (x > 0).select((x * x.sqrt()).sqrt(), x) }}",
    "quotient": f"(x: {X}, y: {X}) -> {X} {{ (y != 0).select((x / y).exp().log1p(), x) }}",
    "overflow": f"(x: {X}) -> {X} {{ (x < 10).select((x * x * x).exp(), 1) }}",
    "nested": f"(x: {X}) -> {X} {{ (x > 0).select((x > 1).select((x - 1).log(), x.sqrt()), 0) }}",
    "twice": f"(x: {X}) -> {X} {{ let l = x.log() in let c = x > 0 in "
    "c.select(l, x) + c.select(l * l, 0) }",
    "limited": f"(x: {X}) -> {X} {{ x.log().maximum(-4).minimum(x.exp().log()) }}",
    "clamped": f"(x: {X}) -> {X} {{ x.log().clamp(-4, 4) }}",
    "small": "(x: tensor<BF16, [N]>) -> tensor<BF16, [N]> { (x > 0).select(x.log(), 0) }",
    # And where elements meet: sums, rows, copies.
    "summed": f"(x: {ROWS}, k: tensor<Bool, [N]>) -> {X} "
    "{ k.select(x.log().reduce(op=sum, axis=1), 0) }",
    "row": f"(x: {ROWS}, k: tensor<Bool, [N]>, t: tensor<I64, [N]>) -> {X} "
    "{ k.select(x.log_softmax(axis=1).take_along_axis(t, axis=1), 0) }",
    "level": f"(x: {ROWS}, k: tensor<Bool, [N]>) -> {X} {{ k.select(x.logsumexp(axis=1), 0) }}",
    "copied": f"(x: {X}, k: tensor<Bool, [V, N]>) -> tensor<F32, [V, N]> "
    "{ k.select(x.log().broadcast([V, N]), 0) }",
    "turned": f"(x: {ROWS}, k: tensor<Bool, [V, N]>) -> tensor<F32, [V, N]> "
    "{ k.select(x.log().transpose([1, 0]), 0) }",
    "flat": "(x: tensor<F32, [2, 3]>, k: tensor<Bool, [6]>) -> tensor<F32, [6]> "
    "{ k.select(x.log().reshape([6]), 0) }",
    "entropy": f"(x: {ROWS}) -> {X} {{ let l = x.log_softmax(axis=1) in let p = l.exp() in "
    "-(p > 0).select(p * l, 0).reduce(op=sum, axis=1) }",
    # And where they meet what other elements hold.
    "attended": f"(q: {ROWS}, k: {ROWS}, v: {ROWS}, valid: tensor<Bool, [N]>, "
    f"used: tensor<Bool, [N]>) -> {ROWS} {{ let keys = valid.broadcast([N, N]) in "
    "let s = keys.select(q.matmul(k.transpose([1, 0])), -inf).softmax(axis=1) in "
    "let y = s.matmul(valid.reshape([N, 1]).broadcast([N, V]).select(v, 0)) in "
    "used.reshape([N, 1]).broadcast([N, V]).select(y, 0) }",
    "folded": f"(x: {ROWS}, w: tensor<F32, [L, V]>, k: tensor<Bool, [N]>) -> {ROWS} "
    "{ k.reshape([N, 1]).broadcast([N, V]).select(fold(_layer, x, over=[w]), 0) }",
    # Rules.
    "ties": f"(x: {X}, y: {X}) -> ({X}, {X}) {{ (x.maximum(y), x.minimum(y)) }}",
    "limits": f"(x: {X}, y: {X}, z: {X}) -> {X} {{ x.clamp(y, z) }}",
    "steps": f"(x: {X}) -> {X} {{ x.floor() + x.ceil() + x.round() + x.stop_gradient() }}",
    "sign": f"(x: {X}) -> {X} {{ x.abs() }}",
    "frozen": f"(x: {ROWS}) -> {X} "
    "{ x.take_along_axis(x.stop_gradient().reduce(op=argmax, axis=1), axis=1) }",
}  # fmt: skip
LAYER = f"""
let _layer = fn(x: {ROWS}, w: tensor<F32, [V]>) -> {ROWS} {{
  x - x.layer_norm(w, w, axis=1, eps=1e-3)
}}
"""


@pytest.fixture(scope="module")
def module() -> kina.Module:
    text = "\n".join(
        f"let {name} = fn{body}\nlet d{name} = reverseMode({name})"
        for name, body in FUNCTIONS.items()
    )
    text = LAYER + text
    return kina.compile(f"{text}\nlet dd = reverseMode(dlogarithm, wrt=[x, ct])", threads=False)


def gradients(module: kina.Module, name: str, *arguments: np.ndarray) -> list[list]:
    """The gradients for cotangents of 1, of compiled code and the reference alike."""
    function = module[f"d{name}"]
    sizes = {
        dim: size
        for parameter, array in zip(function.type.parameters, arguments, strict=False)
        for dim, size in zip(parameter.type.dims, array.shape, strict=True)
    }
    ones = [
        np.ones([sizes.get(dim, dim) for dim in type_.dims], numpy_dtype(type_.dtype))
        for type_ in (cotangent.type for cotangent in function.type.parameters[len(arguments) :])
    ]
    count = len(module[name].type.results)
    found = function(*arguments, *ones)[count:]
    wanted = function.reference(*arguments, *ones)[count:]
    for got, expected in zip(found, wanted, strict=True):
        np.testing.assert_allclose(np.float64(got), np.float64(expected), rtol=1e-5)
    return [np.asarray(gradient, np.float32).tolist() for gradient in found]


BAD = np.float32([1, 0, -0.0, -1, nan, -inf, 4])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("logarithm", [1, 0, 0, 0, 0, 0, 0.25]),
        ("root", [0.75, 1, 1, 1, 1, 1, 0.75 * 4**-0.25]),
        ("nested", [0.5, 0, 0, 0, 0, 0, 1 / 3]),
        ("small", [1, 0, 0, 0, 0, 0, 0.25]),
        ("clamped", [1, 0, 0, -1, nan, 0, 0.25]),
    ],
)
def test_what_is_not_chosen_contributes_exact_zeros(
    module: kina.Module, name: str, expected: list[float]
) -> None:
    argument = BAD.astype(numpy_dtype(module[name].type.parameters[0].type.dtype))
    (found,) = gradients(module, name, argument)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_value_that_is_read_twice(module: kina.Module) -> None:
    (found,) = gradients(module, "twice", np.float32([1, 0, -1, 2]))
    np.testing.assert_allclose(found, [1, 1, 1, 0.5 + np.log(2)], rtol=1e-6)


def test_quotients_and_overflow(module: kina.Module) -> None:
    x, y = np.float32([1, 1, nan, inf]), np.float32([2, 0, 0, -0.0])
    found = gradients(module, "quotient", x, y)
    np.testing.assert_allclose(np.array(found)[:, 1:], [[1, 1, 1], [0, 0, 0]])
    assert gradients(module, "overflow", np.float32([0, 10, 100, inf])) == [[0, 0, 0, 0]]
    (found,) = gradients(module, "limited", np.float32([0.5, 0]))
    np.testing.assert_allclose(found, [2, 0], rtol=1e-6)


def test_rows_that_do_not_count(module: kina.Module) -> None:
    x = np.float32([[1, 2, 4], [0, nan, -1], [inf, nan, 0]])
    keep = np.array([True, False, False])
    (found,) = gradients(module, "summed", x, keep)
    assert found == [[1, 0.5, 0.25], [0, 0, 0], [0, 0, 0]]
    (found,) = gradients(module, "row", x, keep, np.array([2, 1, 0]))
    p = np.exp(x[0] - 4) / np.exp(x[0] - 4).sum()
    np.testing.assert_allclose(found, [[-p[0], -p[1], 1 - p[2]], [0] * 3, [0] * 3], rtol=1e-5)
    (found,) = gradients(module, "level", x, keep)
    np.testing.assert_allclose(found, [p, [0] * 3, [0] * 3], rtol=1e-5)
    (found,) = gradients(module, "entropy", x)
    assert np.isfinite(found[0]).all()
    assert found[1:] == [[0] * 3, [0] * 3]


def test_products_and_layers_of_rows_that_do_not_count(module: kina.Module) -> None:
    """Any numbers in the rows that are not chosen: the same bits in all gradients."""
    rng = np.random.default_rng(3)
    q, k, v, w = (np.float32(rng.standard_normal((3, 4))) for _ in range(4))
    valid, used = np.array([True, False, True]), np.array([False, True, True])
    wanted = gradients(module, "attended", q, k, v, valid, used)
    layered = gradients(module, "folded", q, w[:2], used)
    for bad in (nan, inf, -inf):
        q[0] = k[1] = v[1] = bad
        assert gradients(module, "attended", q, k, v, valid, used) == wanted
        assert gradients(module, "folded", q, w[:2], used) == layered


def test_what_is_moved_and_copied(module: kina.Module) -> None:
    x = np.float32([1, 0, -1])
    keep = np.array([[True, False, False], [True, False, False]])
    assert gradients(module, "copied", x, keep) == [[2, 0, 0]]
    rows = np.float32([[1, 0], [-1, 2], [nan, 0]])
    keep = np.array([[True, False, False], [False, True, False]])
    assert gradients(module, "turned", rows, keep) == [[[1, 0], [0, 0.5], [0, 0]]]
    keep = np.array([True, False, False, False, True, False])
    rows = np.float32([[1, 0, -1], [nan, 2, 0]])
    assert gradients(module, "flat", rows, keep) == [[[1, 0, 0], [0, 0.5, 0]]]


def test_ties_share_and_limits_belong_inside(module: kina.Module) -> None:
    x, y = np.float32([1, 2, -0.0, nan, 1, nan]), np.float32([2, 1, 0, 1, nan, nan])
    zero, one = np.zeros(6, np.float32), np.ones(6, np.float32)
    larger = module.dties(x, y, one, zero)[2:]
    assert [g.tolist() for g in larger] == [[0, 1, 0.5, 1, 0, 0.5], [1, 0, 0.5, 0, 1, 0.5]]
    smaller = module.dties(x, y, zero, one)[2:]
    assert [g.tolist() for g in smaller] == [[1, 0, 0.5, 1, 0, 0.5], [0, 1, 0.5, 0, 1, 0.5]]
    x, low, high = (
        np.float32(values)
        for values in ([0, 1, 2, -1, 3, 1], [0, 0, 0, 0, 0, 3], [2, 2, 2, 2, 2, 2])
    )
    assert gradients(module, "limits", x, low, high) == [
        [1, 1, 1, 0, 0, 0],
        [0, 0, 0, 1, 0, 0],
        [0, 0, 0, 0, 1, 1],
    ]


def test_rules_without_a_derivative(module: kina.Module) -> None:
    assert gradients(module, "steps", np.float32([0.5, 1, -2.5, nan])) == [[0, 0, 0, 0]]
    (found,) = gradients(module, "sign", np.float32([2, -2, 0, -0.0, inf, -inf]))
    assert found == [1, -1, 0, 0, 1, -1]
    assert np.isnan(gradients(module, "sign", np.float32([nan]))[0]).all()
    assert gradients(module, "frozen", np.float32([[1, 3, 2]])) == [[[0, 1, 0]]]


def test_second_order(module: kina.Module) -> None:
    x = np.float32([2, 0, -1])
    one, zero = np.ones(3, np.float32), np.zeros(3, np.float32)
    *_, slope, weight = module.dd(x, one, zero, one)
    assert slope.tolist() == [-0.25, 0, 0]
    assert weight.tolist() == [0.5, 0, 0]


def test_choices_of_every_dtype_at_every_width() -> None:
    """Rows and fibers around the number of lanes; a choice moves bits."""
    lines: list[str] = []
    for dtype in DTYPES:
        for name, shape in (("rows", "[3, N]"), ("fibers", "[N, 3]")):
            x, flags = f"tensor<{dtype}, {shape}>", f"tensor<Bool, {shape}>"
            lines.append(
                f"let {name}_{dtype} = fn(x: {x}, y: {x}) -> ({x}, {flags}, tensor<I32, [3]>) {{ "
                "let c = x < y || !(x >= y) && x != y in "
                f"(c.select(y, x), c, c.cast(I32).reduce(op=sum, axis={int(name == 'rows')})) }}"
            )
    module = kina.compile("\n".join(lines), threads=False)
    rng = np.random.default_rng(0)
    for dtype in DTYPES.values():
        for size in (1, 63, 64, 65, 130):
            x, y = (random_array(rng, dtype, (3, size), "special") for _ in range(2))
            c = ~(x.astype(np.float64) >= y.astype(np.float64))
            wanted = np.where(c, y, x)
            for name in ("rows", "fibers"):
                given = [x, y] if name == "rows" else [np.ascontiguousarray(a.T) for a in (x, y)]
                chosen, flags, counts = module[f"{name}_{dtype}"](*given)
                if name == "fibers":
                    chosen, flags = np.ascontiguousarray(chosen.T), flags.T
                check(chosen, Exact(wanted), dtype, f"{name} of {dtype}")
                assert (flags == c).all()
                assert counts.tolist() == c.sum(1).tolist()
