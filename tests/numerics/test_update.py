"""Updates: in the memory of what they update where the caller says so, elsewhere of a copy."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import kina
from helpers.expect import same_bits
from helpers.inputs import random_array
from helpers.same import as_tuple
from kina.dtypes import DTYPES

HELPERS = Path(__file__).parent / "helpers"

FULL = "tensor<F32, [T, D]>"
ROW = f"k: {FULL}, x: tensor<F32, [1, D]>, i: tensor<I64, []>"
CACHES = f"k: {FULL}, v: {FULL}, x: tensor<F32, [1, D]>, i: tensor<I64, []>"


LAYER = (
    f"let _layer = fn(x: tensor<F32, [1, D]>, k: {FULL}, i: tensor<I64, []>) -> "
    f"(tensor<F32, [1, D]>, {FULL}) {{ let k = k.update(x, at=i, axis=0) in "
    "(x * 0.5 + k.reduce_keep(op=max, axis=0), k) }\n"
    f"let _chosen = fn(x: tensor<F32, [1, D]>, k: {FULL}, i: tensor<I64, []>) -> "
    f"(tensor<F32, [1, D]>, {FULL}) {{ let j = x.reduce(op=argmax, axis=1).reshape([]).clamp(0, 1) "
    "in let k = k.update(x, at=i - i + j, axis=0) in (x + k.reduce_keep(op=max, axis=0), k) }\n"
)
"""One layer with a cache: where it writes is the same for all layers, or is not."""
STACK = "tensor<F32, [2, T, D]>"
STACKS = f"x: tensor<F32, [1, D]>, k: {STACK}, i: tensor<I64, []>"

SHARED: dict[str, tuple[str, list[tuple[int, int]]]] = {
    "put": (f"({ROW}) -> {FULL} {{ k.update(x, at=i, axis=0) }}", [(0, 0)]),
    "columns": (
        "(k: tensor<F32, [D, T]>, x: tensor<F32, [D, 1]>, i: tensor<I64, []>) -> "
        "tensor<F32, [D, T]> { k.update(x, at=i, axis=1) }",
        [(0, 0)],
    ),
    "both": (
        f"({CACHES}) -> ({FULL}, tensor<F32, [D]>, {FULL}) "
        "{ let k1 = k.update(x, at=i, axis=0) in let v1 = v.update(x * 2.0, at=i, axis=0) in "
        "(k1, (k1 * v1).reduce(op=max, axis=0), v1) }",
        [(0, 0), (1, 2)],
    ),
    "swapped": (
        f"({CACHES}) -> ({FULL}, {FULL}) "
        "{ (v.update(x, at=i, axis=0), k.update(x, at=i, axis=0)) }",
        [(0, 1), (1, 0)],
    ),
    "a row of itself": (
        f"({ROW}) -> ({FULL}, tensor<F32, [D]>) {{ let s = k.reduce(op=max, axis=0) in "
        "let old = k.slice(axis=0, start=i, size=1) in "
        "(k.update(old * 0.5 + x, at=i, axis=0), s) }",
        [(0, 0)],
    ),
    "moved": (
        "(k: tensor<F32, [8, D]>, x: tensor<F32, [1, D]>) -> tensor<F32, [8, D]> "
        "{ k.update(k.slice(axis=0, start=0, size=7), at=1, axis=0).update(x, at=0, axis=0) }",
        [(0, 0)],
    ),
    "read before, used after": (
        f"({ROW}) -> ({FULL}, {FULL}) "
        "{ let a = k * 2.0 in let k1 = k.update(x, at=i, axis=0) in (k1, a + k1) }",
        [(0, 0)],
    ),
    "read behind it in the text": (
        f"({ROW}) -> ({FULL}, {FULL}) {{ (k.update(x, at=i, axis=0), k.exp()) }}",
        [(0, 0)],
    ),
    "a chain": (
        "(k: tensor<F32, [4, D]>, x: tensor<F32, [1, D]>, i: tensor<I64, []>) -> "
        "(tensor<F32, [4, D]>, tensor<F32, [1, D]>) { let k1 = k.update(x, at=0, axis=0) in "
        "let h = k1.reduce_keep(op=max, axis=0) + x in let k2 = k1.update(h, at=1, axis=0) in "
        "let h2 = k2.reduce_keep(op=max, axis=0) + h in (k2.update(h2, at=i, axis=0), h + h2) }",
        [(0, 0)],
    ),
    "an index from it": (
        "(k: tensor<I64, [T, D]>, x: tensor<I64, [1, D]>) -> tensor<I64, [T, D]> { k.update(x, "
        "at=k.slice(axis=0, start=0, size=1).slice(axis=1, start=0, size=1).reshape([]), axis=0) }",
        [(0, 0)],
    ),
    "through a call": (
        f"({CACHES}) -> ({FULL}, {FULL}) {{ (put(k, x, i), put(v, x + x, i)) }}",
        [(0, 0), (1, 1)],
    ),
    "returned as it was": (f"({ROW}) -> ({FULL}, {FULL}) {{ (k.update(x, at=i, axis=0), k) }}", []),
    "needed by both": (
        f"({ROW}) -> ({FULL}, {FULL}) {{ let a = k.update(x, at=i, axis=0) in (a, k + a) }}",
        [],
    ),
    "an index from what is written": (
        "(k: tensor<I64, [T, D]>, x: tensor<I64, [1, D]>, i: tensor<I64, []>) -> "
        "(tensor<I64, [T, D]>, tensor<I64, [D]>) { let a = k.update(x, at=i, axis=0) in "
        "(a, a.take_along_axis(a.reduce(op=max, axis=0), axis=0)) }",
        [],
    ),
    "in a fold": (
        f"({STACKS}) -> (tensor<F32, [1, D]>, {STACK}) {{ fold(_layer, x, over=[k], with=[i]) }}",
        [(1, 1)],
    ),
    "in a fold that is called": (
        f"({STACKS}) -> ({STACK}, tensor<F32, [1, D]>) "
        "{ let (y, k) = in_a_fold(x, k, i) in (k, y + x) }",
        [(1, 0)],
    ),
    "in a fold of folds": (
        "(x: tensor<F32, [1, D]>, k: tensor<F32, [3, 2, T, D]>, i: tensor<I64, []>) -> "
        "(tensor<F32, [1, D]>, tensor<F32, [3, 2, T, D]>) "
        "{ fold(in_a_fold, x, over=[k], with=[i]) }",
        [(1, 1)],
    ),
    "in a fold where layers choose": (
        f"({STACKS}) -> (tensor<F32, [1, D]>, {STACK}) {{ fold(_chosen, x, over=[k], with=[i]) }}",
        [],
    ),
    "in a fold and read": (
        f"({STACKS}) -> (tensor<F32, [1, D]>, {STACK}, {STACK}) "
        "{ let (y, c) = fold(_layer, x, over=[k], with=[i]) in (y, c, c + k) }",
        [],
    ),
    "in a fold and checked": (
        f"({STACKS}) -> (tensor<F32, [1, D]>, {STACK}, tensor<F32, [1]>) "
        "{ let (y, k) = fold(_layer, x, over=[k], with=[i]) in "
        "(y, k, y.take_along_axis(k.reduce(op=argmax, axis=1).reshape([2 * D]).slice("
        "axis=0, start=0, size=1).clamp(0, 1), axis=1)) }",
        [],
    ),
    "twice": (
        f"({ROW}) -> ({FULL}, {FULL}) {{ (k.update(x, at=i, axis=0), k.update(x, at=0, axis=0)) }}",
        [(0, 0)],
    ),
}
"""What stands behind `let NAME = fn`, and which parameter may be which result."""

NAMES = {name: name.replace(" ", "_").replace(",", "") for name in SHARED}


def program() -> str:
    texts = [f"let {NAMES[name]} = fn{text}" for name, (text, _) in SHARED.items()]
    return LAYER + "\n".join([*texts, *(dtype_source(dtype) for dtype in DTYPES)])


def dtype_source(dtype: str) -> str:
    return (
        f"let put_{dtype} = fn(k: tensor<{dtype}, [T, 5]>, x: tensor<{dtype}, [2, 5]>, "
        f"i: tensor<I64, []>) -> tensor<{dtype}, [T, 5]> {{ k.update(x, at=i, axis=0) }}"
    )


@cache
def module(threads: bool = True) -> kina.Module:
    return kina.compile(program(), threads=threads)


def arguments(function: kina.Function, seed: int, sizes: dict[str, int]) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    arrays = []
    for parameter in function.type.parameters:
        shape = tuple(sizes.get(dim, dim) for dim in parameter.type.dims)
        is_index = parameter.type.dtype.name == "I64"
        draw = rng.integers(0, 3, shape) if is_index else rng.standard_normal(shape)
        arrays.append(np.asarray(draw, np.int64 if is_index else np.float32))
    return arrays


def in_place(function: kina.Function, arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, ...]:
    """The results of a call in which each parameter that may be a result is it."""
    given = [array.copy() for array in arrays]
    out: list[np.ndarray | None] = [None] * len(function.type.results)
    for parameter, result in function.type.aliases:
        out[result] = given[parameter]
    return as_tuple(function(*given, out=tuple(out) if len(out) > 1 else out[0]))


@pytest.mark.parametrize("name", SHARED)
def test_in_place_and_of_a_copy(name: str) -> None:
    function = module()[NAMES[name]]
    assert list(function.type.aliases) == SHARED[name][1]
    for seed, sizes in enumerate(({"T": 4, "D": 3}, {"T": 3, "D": 70}, {"T": 700, "D": 400})):
        arrays = arguments(function, seed, sizes)
        copies = [array.copy() for array in arrays]
        wanted = as_tuple(function(*arrays))
        for got, want in zip(as_tuple(function.reference(*arrays)), wanted, strict=True):
            assert np.allclose(got, want, 1e-6, 1e-6)
        assert all(map(np.array_equal, arrays, copies))
        for got, want in zip(in_place(function, arrays), wanted, strict=True):
            assert np.array_equal(got, want)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype(dtype: str) -> None:
    function = module()[f"put_{dtype}"]
    rng = np.random.default_rng(0)
    k, x = (random_array(rng, DTYPES[dtype], shape, "special") for shape in ((9, 5), (2, 5)))
    wanted = function.reference(k, x, np.int64(7))
    for got in (function(k, x, np.int64(7)), *in_place(function, [k, x, np.int64(7)])):
        assert same_bits(got, wanted, DTYPES[dtype]).all()


@pytest.mark.parametrize("fast", [True, False])
def test_only_the_window_is_written(fast: bool) -> None:
    """Every other page is read-only."""
    done = subprocess.run(
        [sys.executable, "-m", "helpers.protected", "fast" if fast else "plain"],
        cwd=HELPERS.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_bad_position_changes_nothing() -> None:
    function = module().both
    k, v, x, _ = arguments(function, 0, {"T": 4, "D": 3})
    copies = k.copy(), v.copy()
    for bad in (-1, 4, 1 << 32, -(1 << 63)):
        with pytest.raises(kina.KinaIndexError, match=r"at .* is outside 0 \.\. 3"):
            function(k, v, x, np.int64(bad), out=(k, None, v))
    assert np.array_equal(k, copies[0])
    assert np.array_equal(v, copies[1])


def test_a_bad_position_in_a_fold_changes_nothing() -> None:
    for name in ("in_a_fold", "in_a_fold_of_folds"):
        function = module()[name]
        x, k, _ = arguments(function, 0, {"T": 4, "D": 3})
        copy, row = k.copy(), np.full_like(x, 7)
        with pytest.raises(kina.KinaIndexError, match=r"at 4 is outside 0 \.\. 3"):
            function(x, k, np.int64(4), out=(row, k))
        assert np.array_equal(k, copy)
        assert np.array_equal(row, np.full_like(x, 7))


def test_every_other_overlap_is_refused() -> None:
    memory = np.zeros((9, 4), np.float32)
    k, moved, x, i = memory[:8], memory[1:], np.zeros((1, 4), np.float32), np.int64(0)
    put, swapped = module().put, module().swapped
    with pytest.raises(kina.KinaValueError, match="out overlaps parameter 'k'"):
        put(k, x, i, out=moved)
    with pytest.raises(kina.KinaValueError, match="out overlaps parameter 'x'"):
        put(k, memory[:1], i, out=k)
    with pytest.raises(kina.KinaValueError, match=r"out\[0\] overlaps parameter 'k'"):
        swapped(k, moved.copy(), x, i, out=(k, None))
    with pytest.raises(kina.KinaValueError, match=r"out\[1\] overlaps"):
        swapped(k, k, x, i, out=(None, k))
    with pytest.raises(kina.KinaValueError, match=r"out\[0\] overlaps parameter 'k'"):
        module()["returned_as_it_was"](k, x, i, out=(k, None))
    assert np.array_equal(memory, np.zeros((9, 4)))


def test_the_type_says_what_may_be_shared() -> None:
    assert str(module().both.type).endswith(", out0 may be k, out2 may be v")
    assert str(module().put.type).endswith("-> tensor<F32, [T, D]>, out may be k")
