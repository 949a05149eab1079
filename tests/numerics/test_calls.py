"""Calls that stay calls: the same values, checks and statuses as bodies, on both pipelines."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kina
from kina.backend.lowering import Lowering
from kina.backend.options import Options
from kina.errors import KinaIndexError
from kina.frontend.check import check
from kina.frontend.source import Source
from kina.passes import limits

NESTED = """let f0 = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> { x * x + 0.5 - x }
"""
NESTED += "".join(
    f"let f{i} = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> {{ f{i - 1}(f{i - 1}(x)) }}\n"
    for i in range(1, 8)
)

PROGRAM = """
let pick = fn(x: tensor<F32, [N, V]>, t: tensor<I64, [N]>) -> tensor<F32, [N]> {
  let p = x.log_softmax(axis=1) in
  -p.take_along_axis(t, axis=1)
}
let rows = fn(table: tensor<F32, [V, D]>, i: tensor<I64, [N]>, x: tensor<F32, [N, D]>)
  -> (tensor<F32, [N, D]>, tensor<F32, [N]>, tensor<F32, [N, D]>) {
  let y = table.gather(i) + x in
  (y, pick(y, i), x)
}
let twice = fn(table: tensor<F32, [V, 4]>, i: tensor<I64, [N]>, j: tensor<I64, [N]>)
  -> (tensor<F32, [N, 4]>, tensor<F32, [N]>, tensor<F32, [N, 4]>) {
  let (a, p, e) = rows(table, i, table.gather(j)) in
  let (b, q, r) = rows(table, j, a) in
  let (c, s, d) = rows(table, i, b) in
  (b.softmax(axis=1), p + q + s, r)
}
let fixed = fn(table: tensor<F32, [4, 4]>, i: tensor<I64, [3]>) -> tensor<F32, [3]> {
  let (b, q, r) = twice(table, i, i) in
  let (c, s, t) = twice(table, i, i) in
  (b + r + c + t).reduce(op=sum, axis=1) + q + s
}
let half = fn(x: tensor<BF16, [N, V]>, n: tensor<I4, [N]>)
  -> (tensor<BF16, [N, V]>, tensor<I4, [N]>) {
  (x.softmax(axis=1), n + n)
}
let halves = fn(x: tensor<BF16, [N, V]>, n: tensor<I4, [N]>)
  -> (tensor<BF16, [N, V]>, tensor<I4, [N]>) {
  let (y, m) = half(x, n) in
  let (z, k) = half(y, m) in
  half(z + y, k + m)
}
let scalar = fn(x: tensor<F32, [N]>) -> tensor<F32, []> { x.reduce(op=sum, axis=0) }
let scalars = fn(x: tensor<F32, [N]>) -> tensor<F32, []> {
  scalar(x.exp()) + scalar(x + scalar(x).broadcast([N]))
}
let late = fn(table: tensor<F32, [V, D]>, i: tensor<I64, [N]>, j: tensor<I64, [N]>)
  -> (tensor<F32, [N, D]>, tensor<F32, [N]>, tensor<F32, [N, D]>) {
  let (b, q, r) = rows(table, i, table.gather(i)) in
  let (c, s, t) = rows(table, j, b) in
  (b, q, c)
}
"""


@pytest.fixture(scope="module")
def caches(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of caches: the limits are in no key."""
    return tmp_path_factory.mktemp("caches")


def set_limits(monkeypatch: pytest.MonkeyPatch, caches: Path, *, stay: bool) -> None:
    """Every call stays one, or none does."""
    monkeypatch.setenv("KINA_CACHE", str(caches / str(stay)))
    monkeypatch.setattr(limits, "SMALL", 0 if stay else 10_000)
    monkeypatch.setattr(limits, "COPIED", 0)


@pytest.fixture(params=[True, False], ids=["calls", "bodies"])
def calls(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, caches: Path) -> bool:
    """Whether every call stays one, or none does."""
    set_limits(monkeypatch, caches, stay=bool(request.param))
    return bool(request.param)


def arguments() -> dict[str, list[np.ndarray]]:
    """Inputs of each function that the tests call."""
    random = np.random.default_rng(3)
    table = random.normal(size=(4, 4)).astype(np.float32)
    i, j = np.array([0, 3, 1]), np.array([2, 2, 0])
    import ml_dtypes

    x = random.normal(size=(3, 5)).astype(ml_dtypes.bfloat16)
    n = np.array([1, -2, 3]).astype(ml_dtypes.int4)
    return {
        "twice": [table, i, j],
        "fixed": [table, i],
        "halves": [x, n],
        "scalars": [table[0]],
    }


def results(module: kina.Module, name: str) -> list[np.ndarray]:
    """What a function gives on its inputs."""
    given = module[name](*arguments()[name])
    return list(given) if isinstance(given, tuple) else [given]


@pytest.mark.parametrize(
    ("fast", "target"),
    [
        (True, "native"),
        (False, "native"),
        pytest.param(True, "x86-64", marks=pytest.mark.sweep),
        pytest.param(False, "x86-64", marks=pytest.mark.sweep),
    ],
)
def test_calls_give_the_bits_of_bodies(
    fast: bool, target: str, monkeypatch: pytest.MonkeyPatch, caches: Path
) -> None:
    found: list[list[bytes]] = []
    for stay in (True, False):
        set_limits(monkeypatch, caches, stay=stay)
        module = kina.compile(PROGRAM, fast=fast, target=target, threads=False)
        found.append([r.tobytes() for name in arguments() for r in results(module, name)])
    assert found[0] == found[1]


@pytest.mark.parametrize("fast", [True, False])
def test_calls_agree_with_the_reference(calls: bool, fast: bool) -> None:
    module = kina.compile(PROGRAM, fast=fast, threads=False)
    for name, given in arguments().items():
        expected = module[name].reference(*given)
        expected = expected if isinstance(expected, tuple) else (expected,)
        for mine, theirs in zip(results(module, name), expected, strict=True):
            wide = np.asarray(theirs).astype(np.float32)
            np.testing.assert_allclose(mine.astype(np.float32), wide, rtol=2e-2, atol=1e-5)


@pytest.mark.parametrize("fast", [True, False])
def test_the_first_check_in_program_order_is_named(calls: bool, fast: bool) -> None:
    """By the callee's line, with the position that the reference finds."""
    module = kina.compile(PROGRAM, fast=fast, threads=False)
    table, i, j = arguments()["twice"]
    good = module.twice(table, i, j)
    for bad_i, bad_j, place in (
        (i, np.array([0, 4, 0]), "13:40: error: gather: index 4 at [1]"),
        (np.array([0, 0, 9]), j, "8:17: error: gather: index 9 at [2]"),
        (np.array([0, 0, 9]), np.array([-1, 0, 0]), "13:40: error: gather: index -1 at [0]"),
    ):
        with pytest.raises(KinaIndexError) as caught:
            module.twice(table, bad_i, bad_j)
        assert place in str(caught.value), str(caught.value)
    outs = tuple(np.full_like(result, 7) for result in module.late(table, i, j))
    with pytest.raises(KinaIndexError, match="8:17: error: gather: index 4"):
        module.late(table, i, np.array([0, 0, 4]), out=outs)
    assert all((out == 7).all() for out in outs), "written before the last index was checked"
    again = module.twice(table, i, j)
    assert [a.tobytes() for a in again] == [g.tobytes() for g in good]


def test_messages_are_listed_once() -> None:
    part, *_ = Lowering(check(Source("calls.kina", PROGRAM)), 10**6).parts(Options())
    for function in part.functions:
        assert len(set(function.messages)) == len(function.messages)


@pytest.mark.parametrize("fast", [True, False])
def test_nested_calls(fast: bool) -> None:
    module = kina.compile(NESTED, fast=fast, threads=False)
    x = np.linspace(0, 1, 7).astype(np.float32)
    y = x
    for _ in range(1 << 7):
        y = y * y + np.float32(0.5) - y
    np.testing.assert_array_equal(module.f7(x), y)
    np.testing.assert_array_equal(module.f7.reference(x), y)


def test_gradients_go_through_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    """By pullbacks."""
    monkeypatch.setattr(limits, "SMALL", 0)
    monkeypatch.setattr(limits, "COPIED", 0)
    text = NESTED + "let g = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> { f2(x) + f1(f1(x)) }\n"
    module = kina.compile(text + "let dg = reverseMode(g)", fast=False)
    x = np.linspace(0, 1, 7).astype(np.float32)
    value, slope = x.astype(np.float64), np.full(7, 2.0)
    for _ in range(4):
        value, slope = value * value + 0.5 - value, slope * (2 * value - 1)
    np.testing.assert_allclose(module.dg(x, np.ones(7, np.float32))[1], slope, rtol=1e-4)


@pytest.mark.parametrize("fast", [True, False])
def test_the_memory_of_a_callee_is_checked(fast: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its status is the caller's: no index is blamed.

    What a call gives is memory of its caller, whatever fusion can do without.
    """
    monkeypatch.setattr(limits, "SMALL", 0)
    monkeypatch.setattr(limits, "COPIED", 0)
    text = """
let square = fn(x: tensor<F32, [A, 1]>) -> tensor<F32, [A, A]> { x.broadcast([A, A]).exp() }
let wide = fn(x: tensor<F32, [A, 1]>) -> tensor<F32, [A]> { square(x).reduce(op=sum, axis=1) }
let f = fn(x: tensor<F32, [A, 1]>) -> tensor<F32, [A]> {
  wide(x) + wide((wide(x) + wide(x)).reshape([A, 1]))
}
"""
    module = kina.compile(text, fast=fast)
    x = np.zeros((1 << 25, 1), np.float32)
    with pytest.raises(MemoryError):
        module.f(x)
    assert module.f(np.zeros((3, 1), np.float32)).shape == (3,)
