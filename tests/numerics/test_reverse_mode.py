"""`reverseMode` of whole programs: values, fixed orders, what it leaves out and what it refuses.

One module holds the programs: a library costs more to build than a function in it.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import kina

INF = np.inf

PROGRAMS = """
let nll = fn(x: tensor<F32, [B, V]>, t: tensor<I64, [B]>) -> tensor<F32, [B]> {
  -x.log_softmax(axis=1).take_along_axis(t, axis=1)
}
let dnll = reverseMode(nll)

let masked = fn(
  x: tensor<F32, [B, V]>, m: tensor<F32, [B, V]>, t: tensor<I64, [B]>
) -> tensor<F32, [B]> {
  nll(x + m, t)
}
let dmasked = reverseMode(masked, wrt=[x])

let mean_nll = fn(
  x: tensor<F32, [B, V]>, t: tensor<I64, [B]>
) -> (tensor<F32, []>, tensor<I64, [B]>) {
  (nll(x, t).reduce(op=mean, axis=0), x.reduce(op=argmax, axis=1))
}
let dmean_nll = reverseMode(mean_nll)

let small_nll = fn(x: tensor<BF16, [B, V]>, t: tensor<I64, [B]>) -> tensor<BF16, [B]> {
  -x.log_softmax(axis=1).take_along_axis(t, axis=1)
}
let dsmall_nll = reverseMode(small_nll)

let highest = fn(x: tensor<F32, [N]>) -> tensor<F32, []> { x.reduce(op=max, axis=0) }
let dhighest = reverseMode(highest)
let lowest = fn(x: tensor<F32, [B, N]>) -> tensor<F32, [B]> { x.reduce(op=min, axis=1) }
let dlowest = reverseMode(lowest)

let twice = fn(x: tensor<F32, [N]>) -> (tensor<F32, [N]>, tensor<F32, [N]>) {
  let y = exp(x) in
  let x = y * y in
  (x + y, y)
}
let dtwice = reverseMode(twice)
let cube = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> { x * x * x }
let dcube = reverseMode(cube)
let ddcube = reverseMode(dcube, wrt=[x])

let spread = fn(x: tensor<F32, []>, y: tensor<F32, [2, 1, 4]>) -> tensor<F32, [2, 3, 4]> {
  x.broadcast([2, 3, 4]) * y.broadcast([2, 3, 4]) * 2.0
}
let dspread = reverseMode(spread)

let product = fn(a: tensor<F32, [N]>, b: tensor<F32, [N]>) -> tensor<F32, [N]> { a * b }
let dproduct = reverseMode(product, wrt=[b, a])
let donly_a = reverseMode(product, wrt=[a])
let of_itself = fn(x: tensor<F32, [M]>) -> (tensor<F32, [M]>, tensor<F32, [M]>) {
  donly_a(x, x, x * 0.0 + 1.0)
}

let kept = fn(
  x: tensor<F32, [N]>, y: tensor<F32, [N, 2]>
) -> (tensor<F32, [N]>, tensor<F32, [N]>) { (x, x) }
let dkept = reverseMode(kept)

let pair = fn(x: tensor<F32, [N]>, k: tensor<F32, [N]>) -> (tensor<F32, [N]>, tensor<F32, []>) {
  (x * k, x.reduce(op=sum, axis=0))
}
let uses = fn(x: tensor<F32, [2, 3]>) -> tensor<F32, [6]> {
  let (a, total) = pair(x.reshape([6]), tensor<F32, [6]>(1, 2, 3, 4, 5, 6)) in
  let (b, rest) = pair(a, a) in
  b + total.broadcast([6])
}
let duses = reverseMode(uses)

let lookup = fn(table: tensor<F32, [V, D]>, ids: tensor<I64, [B, T]>) -> tensor<F32, [B, T, D]> {
  table.gather(ids)
}
let dlookup = reverseMode(lookup)
let small_lookup = fn(
  table: tensor<F16, [V, D]>, ids: tensor<I64, [B, T]>
) -> tensor<F16, [B, T, D]> {
  table.gather(ids)
}
let dsmall_lookup = reverseMode(small_lookup)

let counted = fn(x: tensor<F32, [B, V]>, n: tensor<I32, [B, V]>) -> tensor<F32, [B]> {
  let steps = x.cast(I32) + n in
  (x * steps.cast(F32)).reduce(op=mean, axis=1)
}
let dcounted = reverseMode(counted)

let attention = fn(
  q: tensor<F32, [T, D]>, k: tensor<F32, [T, D]>, v: tensor<F32, [T, D]>
) -> tensor<F32, [T, D]> {
  let a = q.reshape([T, 1, D]).broadcast([T, T, D]) in
  let scores = (a * k.broadcast([T, T, D])).reduce(op=sum, axis=2) in
  let weights = scores.softmax(axis=1) in
  (weights.reshape([T, T, 1]).broadcast([T, T, D]) * v.broadcast([T, T, D])).reduce(op=sum, axis=1)
}
let dattention = reverseMode(attention)
"""


@pytest.fixture(scope="module")
def m() -> kina.Module:
    return kina.compile(PROGRAMS, threads=False)


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def both(function: kina.Function, *arguments: np.ndarray) -> list[np.ndarray]:
    """The compiled results, after comparing them with the reference's."""
    got, wanted = function(*arguments), function.reference(*arguments)
    for left, right in zip(got, wanted, strict=True):
        assert left.dtype == right.dtype
        np.testing.assert_allclose(
            left.astype(np.float64), right.astype(np.float64), rtol=2e-5, atol=2e-6
        )
    return list(got)


def test_signatures(m: kina.Module) -> None:
    assert str(m.dnll.type) == (
        "dnll(x: tensor<F32, [B, V]>, t: tensor<I64, [B]>, ct: tensor<F32, [B]>) -> "
        "(tensor<F32, [B]>, tensor<F32, [B, V]>)"
    )
    assert [p.name for p in m.dmean_nll.type.parameters] == ["x", "t"]
    assert [p.name for p in m.dtwice.type.parameters] == ["x", "ct0", "ct1"]
    assert [p.name for p in m.ddcube.type.parameters] == ["x", "ct", "ct0", "ct1"]


def test_nll_is_softmax_minus_one_hot(m: kina.Module) -> None:
    x, t, ct = random(5, 1000) * 4, np.array([0, 999, 3, 4, 500]), random(5, seed=1)
    loss, slope = both(m.dnll, x, t, ct)
    assert np.array_equal(loss, m.nll(x, t))
    wide = x.astype(np.float64)
    p = np.exp(wide - wide.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(5), t] -= 1
    np.testing.assert_allclose(slope, p * ct[:, None], rtol=2e-5, atol=1e-7)
    sums = slope.astype(np.float64).sum(axis=1)
    assert np.all(np.abs(sums) <= 2e-6 * np.abs(ct))


@pytest.mark.parametrize("ct", [1.0, -1.0, -0.0, 0.0, 3e38])
def test_a_masked_class_gets_exactly_zero(m: kina.Module, ct: float) -> None:
    x, t = np.float32([[-INF, 0, 1]]), np.array([2])
    for arguments in (
        (m.dnll, x),
        (m.dmasked, np.float32([[5, 0, 1]]), np.float32([[-INF, 0, 0]])),
    ):
        function, *given = arguments
        _, slope = both(function, *given, t, np.float32([ct]))
        assert slope[0, 0] == 0
        assert not np.signbit(slope[0, 0])
        np.testing.assert_allclose(
            slope, np.float32([[0, 0.26894143, -0.26894143]]) * ct, rtol=1e-6
        )


def test_a_row_of_nothing_but_masks_is_nan_and_disturbs_no_other(m: kina.Module) -> None:
    x = np.float32([[-INF, -INF, -INF], [0, 1, 2]])
    _, slope = both(m.dnll, x, np.array([0, 1]), np.ones(2, np.float32))
    assert np.isnan(slope[0]).all()
    assert np.isfinite(slope[1]).all()


def test_the_loss_counts_once_and_a_decode_beside_it_is_fine(m: kina.Module) -> None:
    x, t = random(4, 7), np.array([1, 2, 6, 0])
    loss, best, slope = both(m.dmean_nll, x, t)
    assert loss.shape == ()
    assert np.array_equal(best, x.argmax(axis=1))
    _, each = m.dnll(x, t, np.full(4, 0.25, np.float32))
    assert np.array_equal(slope, each)


def test_small_floats_round_each_gradient_once(m: kina.Module) -> None:
    x = random(3, 9).astype(ml_dtypes.bfloat16)
    ct = np.ones(3, ml_dtypes.bfloat16)
    t = np.array([1, 0, 8])
    y, slope = m.dsmall_nll(x, t, ct)
    assert y.dtype == slope.dtype == ml_dtypes.bfloat16
    p = np.exp(x.astype(np.float64))
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(3), t] -= 1
    # rounded once, to 8 bits
    np.testing.assert_allclose(slope.astype(np.float64), p, rtol=2.0**-8, atol=1e-6)


def test_ties_share_equally(m: kina.Module) -> None:
    _, slope = both(m.dhighest, np.float32([1, 2, 2, 2]))
    assert slope.tolist() == np.float32([0, 1 / 3, 1 / 3, 1 / 3]).tolist()
    _, slope = both(m.dhighest, np.float32([-0.0, 0.0, -1]))
    assert slope.tolist() == [0.5, 0.5, 0]
    _, slope = both(m.dlowest, np.float32([[INF, INF], [2, 1]]), np.float32([3, INF]))
    assert slope.tolist() == [[1.5, 1.5], [0, INF]]
    _, slope = both(m.dhighest, np.float32([np.nan, 1, np.nan]))
    assert slope.tolist() == [0.5, 0, 0.5]


def test_a_value_used_twice_and_a_shadowed_name(m: kina.Module) -> None:
    x, a, b = random(6), random(6, seed=1), random(6, seed=2)
    first, second, slope = both(m.dtwice, x, a, b)
    y = np.exp(x)
    np.testing.assert_allclose(slope, a * (2 * y * y + y) + b * y, rtol=1e-5)
    assert np.array_equal(first, y * y + y) or np.allclose(first, y * y + y, rtol=1e-6)
    assert np.allclose(second, y, rtol=1e-6)


def test_second_order(m: kina.Module) -> None:
    """d/dx of `(x^3, 3 x^2 ct)` against cotangents u and v: `3 x^2 u + 6 x ct v`."""
    x, ct, u, v = (random(5, seed=s) for s in range(4))
    *_, slope = both(m.ddcube, x, ct, u, v)
    np.testing.assert_allclose(slope, 3 * x * x * u + 6 * x * ct * v, rtol=1e-5, atol=1e-5)


def test_broadcasts_sum(m: kina.Module) -> None:
    x, y, ct = np.float32(1.5), random(2, 1, 4), random(2, 3, 4, seed=1)
    value, dx, dy = both(m.dspread, x, y, ct)
    assert np.array_equal(value, 2 * np.broadcast_to(x * y, (2, 3, 4)))
    np.testing.assert_allclose(dx, np.sum(ct * y * 2), rtol=1e-5)
    np.testing.assert_allclose(dy, np.sum(ct * x * 2, axis=1, keepdims=True), rtol=1e-5)


def test_gradients_come_in_the_order_of_wrt(m: kina.Module) -> None:
    a, b, ct = (random(3, seed=s) for s in range(3))
    _, db, da = both(m.dproduct, a, b, ct)
    assert np.array_equal(da, ct * b)
    assert np.array_equal(db, ct * a)


def test_one_tensor_for_two_parameters_keeps_them_apart(m: kina.Module) -> None:
    """By the first parameter only: x, and not 2 x."""
    x = random(4)
    value, slope = both(m.of_itself, x)
    assert np.array_equal(value, x * x)
    assert np.array_equal(slope, x)


def test_a_parameter_returned_twice_and_one_that_nothing_reads(m: kina.Module) -> None:
    x, y, a, b = random(3), random(3, 2), random(3, seed=1), random(3, seed=2)
    first, second, dx, dy = both(m.dkept, x, y, a, b)
    assert np.array_equal(first, x)
    assert np.array_equal(second, x)
    assert np.array_equal(dx, a + b)
    assert np.array_equal(dy, np.zeros((3, 2)))
    assert not np.signbit(dy).any()


def test_calls_tuples_and_literals(m: kina.Module) -> None:
    x, ct = random(2, 3), random(6, seed=1)
    _, slope = both(m.duses, x, ct)
    k = np.arange(1, 7)
    wanted = ct * 2 * x.reshape(6) * k * k + ct.sum()
    np.testing.assert_allclose(slope, wanted.reshape(2, 3), rtol=1e-5, atol=1e-5)


def duplicates_in_order(ids: np.ndarray, ct: np.ndarray, rows: int) -> np.ndarray:
    """What gather's gradient is, to the bit: F32 sums from 0 in the order of the indices."""
    total = np.zeros((rows, ct.shape[-1]), np.float32)
    for position in np.ndindex(ids.shape):
        total[ids[position]] += ct[position].astype(np.float32)
    return total


LOOKUPS = PROGRAMS[PROGRAMS.index("let lookup") : PROGRAMS.index("let counted")]


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_duplicates_add_up_in_order_with_any_number_of_threads(threads: int) -> None:
    m = kina.compile(LOOKUPS)
    ids = np.random.default_rng(3).integers(0, 5, (7, 40))
    ct = random(7, 40, 130) * np.float32([1e-3, 1, 1e4] * 43 + [1])
    table = random(6, 130, seed=1)
    kina.set_num_threads(threads)
    try:
        rows, slope = m.dlookup(table, ids, ct)
        small = m.dsmall_lookup(table.astype(np.float16), ids, ct.astype(np.float16))[1]
    finally:
        kina.set_num_threads(os.cpu_count() or 1)
    assert np.array_equal(rows, table[ids])
    assert np.array_equal(slope, duplicates_in_order(ids, ct, 6))
    with np.errstate(over="ignore"):
        wanted = duplicates_in_order(ids, ct.astype(np.float16), 6).astype(np.float16)
    assert np.array_equal(small, wanted)
    assert not slope[5].any()


def test_integers_carry_nothing(m: kina.Module) -> None:
    x, n, ct = random(2, 4) * 3, np.arange(8, dtype=np.int32).reshape(2, 4), random(2, seed=1)
    _, slope = both(m.dcounted, x, n, ct)
    steps = (x.astype(np.int32) + n).astype(np.float32)
    np.testing.assert_allclose(slope, ct[:, None] / 4 * steps, rtol=1e-6)


def test_attention_against_float64_differences(m: kina.Module) -> None:
    q, k, v, ct = (random(4, 3, seed=s) for s in range(4))
    _, *slopes = both(m.dattention, q, k, v, ct)

    def loss(*inputs: np.ndarray) -> float:
        a, b, c = (array.astype(np.float64) for array in inputs)
        weights = np.exp(a @ b.T)
        return float(np.sum(weights / weights.sum(axis=1, keepdims=True) @ c * ct))

    for position, slope in enumerate(slopes):
        for place in np.ndindex(slope.shape):
            moved = [[x.astype(np.float64).copy() for x in (q, k, v)] for _ in range(2)]
            moved[0][position][place] += 1e-5
            moved[1][position][place] -= 1e-5
            wanted = (loss(*moved[0]) - loss(*moved[1])) / 2e-5
            assert abs(slope[place] - wanted) <= 1e-5 * (1 + abs(wanted))


def test_a_bad_index_is_refused_once_and_at_the_take(m: kina.Module) -> None:
    with pytest.raises(kina.KinaIndexError, match=r"take_along_axis: index 3 at \[1\]"):
        m.dnll(random(2, 3), np.array([0, 3]), random(2))
    with pytest.raises(kina.KinaIndexError, match="gather: index -1"):
        m.dlookup(random(2, 3), np.array([[-1]]), random(1, 1, 3))


def test_inputs_are_only_read(m: kina.Module, tmp_path: Path) -> None:
    path = tmp_path / "x"
    random(6, 2).tofile(path)
    with path.open("rb") as file:
        mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        x = np.frombuffer(mapped, np.float32).reshape(6, 2)
        before = x.tobytes()
        ct = x[:, 0].copy()
        m.dnll(x, np.zeros(6, np.int64), ct)
        m.dproduct(ct, ct, ct)
        m.dattention(x, x, x, x)
        m.dkept(ct, x, ct, ct)
        assert x.tobytes() == before
        assert ct.tobytes() == x[:, 0].tobytes()
        del x
        mapped.close()


def resident() -> int:
    with Path("/proc/self/statm").open() as file:
        return int(file.read().split()[1]) * mmap.PAGESIZE


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux's /proc")
def test_calls_keep_no_memory(m: kina.Module) -> None:
    x, t, ct = random(100, 1000), np.zeros(100, np.int64), random(100)
    out = (np.empty(100, np.float32), np.empty((100, 1000), np.float32))
    for _ in range(20):
        m.dnll(x, t, ct, out=out)
    before = resident()
    for _ in range(1000):
        m.dnll(x, t, ct, out=out)
    assert resident() - before < 20 << 20


X = "x: tensor<F32, [4]>"


@pytest.mark.parametrize(
    "body",
    [
        "-> tensor<I64, []> { x.reduce(op=argmax, axis=0) }",
        "-> tensor<F32, []> { x.reduce(op=argmax, axis=0).cast(F32) }",
        "-> tensor<F32, []> { exp(x).cast(I32).reduce(op=argmax, axis=0).cast(F32) }",
        "-> (tensor<F32, [4]>, tensor<F32, [1]>)"
        " { (x, x.reduce_keep(op=argmax, axis=0).cast(F32)) }",
        "-> tensor<F32, [4]> { x.reshape([1, 4]).gather(x.reshape([4, 1]).reduce(op=argmax, axis=0)"
        ".reshape([])) }",
    ],
)
def test_argmax_is_refused_where_a_gradient_would_go_through_it(body: str) -> None:
    text = f"let f = fn({X})\n  {body}\nlet df = reverseMode(f)"
    with pytest.raises(kina.KinaTypeError) as caught:
        kina.compile(text)
    (problem,) = caught.value.diagnostics
    assert problem.message == "Argmax VJP is unsupported."
    assert problem.span is not None
    assert problem.span.line == 2
    assert problem.span.line_text[problem.span.column - 1 :].startswith("reduce")


CURVATURE = """
let nll = fn(x: tensor<F32, [B, V]>, t: tensor<I64, [B]>) -> tensor<F32, [B]> {
  -x.log_softmax(axis=1).take_along_axis(t, axis=1)
}
let dnll = reverseMode(nll, wrt=[x])
let ddnll = reverseMode(dnll, wrt=[x])
let first = fn(x: tensor<F32, [V, B]>, t: tensor<I64, [B]>) -> tensor<F32, [B]> {
  -x.log_softmax(axis=0).take_along_axis(t, axis=0)
}
let dfirst = reverseMode(first, wrt=[x])
let ddfirst = reverseMode(dfirst, wrt=[x])
"""


@pytest.mark.parametrize("width", [1, 5, 64, 200, 16385, 40000])
def test_a_scatter_that_is_summed_stays_in_the_row(width: int) -> None:
    """Second order, symbolic sizes: the positions along the axis belong to the innermost loop."""
    module = kina.compile(CURVATURE)
    rng = np.random.default_rng(width)
    x = rng.normal(size=(3, width)).astype(np.float32)
    t = rng.integers(0, width, 3)
    ct = rng.normal(size=3).astype(np.float32)
    weights = rng.normal(size=(3, width)).astype(np.float32)
    for function, axis in ((module.ddnll, 1), (module.ddfirst, 0)):
        values = x if axis == 1 else np.ascontiguousarray(x.T)
        second = weights if axis == 1 else np.ascontiguousarray(weights.T)
        arguments = (values, t, ct, np.ones(3, np.float32), second)
        for result, exact in zip(function(*arguments), function.reference(*arguments), strict=True):
            np.testing.assert_allclose(result, exact, rtol=2e-5, atol=2e-6)
