"""Reductions that the language has no word for yet, written as linalg: order, winners, NaNs.

Which value wins and which order counts must come from the ops themselves.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from helpers.linalg_program import call, library, scheduled
from kina.order import CHUNK, in_order
from kina.passes.extrema import SETTLED

FUNCTION = """
func.func @f(%x: tensor<{shape}x{kind}>) -> tensor<{rows}x{result}> attributes {{
  parameter_names = ["x"], parameter_dims = [[{dims}]], parameter_dtypes = ["{dtype}"],
  result_dims = [[{row_dim}]], result_dtypes = ["{result_dtype}"]
}} {{
  %c = arith.constant {row_axis} : index
  %n = tensor.dim %x, %c : tensor<{shape}x{kind}>
BODY
}}
"""
# xDSL reads a generic of two results in generic form only.
CONTEST = """
  %start = arith.constant {start} : {kind}
  %zero = arith.constant 0 : i64
  %values = tensor.empty({dynamic}) : {out}
  %indices = tensor.empty({dynamic}) : tensor<{rows}xi64>
  %v = linalg.fill ins(%start : {kind}) outs(%values : {out}) -> {out}
  %i = linalg.fill ins(%zero : i64) outs(%indices : tensor<{rows}xi64>) -> tensor<{rows}xi64>
  %best, %at = "linalg.generic"(%x, %v, %i) <{{
    indexing_maps = [{walk}, {made}, {made}],
    iterator_types = [#linalg.iterator_type<parallel>, #linalg.iterator_type<reduction>],
    operandSegmentSizes = array<i32: 1, 2>
  }}> ({{
  ^bb0(%e: {kind}, %b: {kind}, %p: i64):
    %wins = arith.{comparison}, %e, %b : {kind}
    %here = linalg.index 1 : index
    %now = arith.index_cast %here : index to i64
    %better = arith.select %wins, %e, %b : {kind}
    %place = arith.select %wins, %now, %p : i64
    linalg.yield %better, %place : {kind}, i64
  }}) : (tensor<{shape}x{kind}>, {out}, tensor<{rows}xi64>) -> ({out}, tensor<{rows}xi64>)
  func.return %at : tensor<{rows}xi64>
"""
REDUCTION = """
  %start = arith.constant {start} : {kind}
  %empty = tensor.empty({dynamic}) : {out}
  %v = linalg.fill ins(%start : {kind}) outs(%empty : {out}) -> {out}
  %r = linalg.generic {{indexing_maps = [{walk}, {made}], iterator_types = [{kinds}]}}
      ins(%x : tensor<{shape}x{kind}>) outs(%v : {out}) {{
  ^bb0(%e: {kind}, %a: {kind}):
    %j = arith.{op} %e, %a {marks}: {kind}
    linalg.yield %j : {kind}
  }} -> {out}
  func.return %r : {out}
"""
DTYPES = {"f32": "F32", "bf16": "BF16", "i32": "I32", "i64": "I64"}
NUMPY = {"f32": np.float32, "i32": np.int32}
BOTH = pytest.mark.parametrize("fast", [True, False], ids=["scheduled", "plain"])


def written(
    body: str, kind: str, sizes: tuple[int | str, int | str], axis: int, **names: str
) -> str:
    """A function that reduces one axis of a matrix; a size that is a name is known at run time."""
    shown = ["?" if isinstance(size, str) else str(size) for size in sizes]
    dims = [f'"{size}"' if isinstance(size, str) else str(size) for size in sizes]
    types = ("reduction", "parallel") if axis == 0 else ("parallel", "reduction")
    row = 1 - axis
    known = {
        **names,
        "kind": kind,
        "shape": "x".join(shown),
        "rows": shown[row],
        "out": f"tensor<{shown[row]}x{kind}>",
        "kinds": ", ".join(f'"{name}"' for name in types),
        "dynamic": "%n" if isinstance(sizes[row], str) else "",
        "walk": "affine_map<(d0, d1) -> (d0, d1)>",
        "made": f"affine_map<(d0, d1) -> (d{row})>",
    }
    result = "i64" if body is CONTEST else kind
    return FUNCTION.format(
        **known,
        dims=", ".join(dims),
        row_dim=dims[row],
        row_axis=row,
        dtype=DTYPES[kind],
        result=result,
        result_dtype=DTYPES[result],
    ).replace("BODY", body.format(**known))


CONTESTS = {
    "ogt": ("f32", "cmpf ogt", "0xff800000", np.float32(-np.inf)),
    "olt": ("f32", "cmpf olt", "0x7f800000", np.float32(np.inf)),
    "sgt": ("i32", "cmpi sgt", "-2147483648", np.int32(-(2**31))),
    "slt": ("i32", "cmpi slt", "2147483647", np.int32(2**31 - 1)),
}


def winners(x: np.ndarray, start: np.generic, *, greater: bool) -> list[int]:
    """The lowest index that wins against all before it; 0 where nothing wins against the start."""
    indices: list[int] = []
    for row in x:
        best, index = start, 0
        for i, value in enumerate(row):
            if value > best if greater else value < best:
                best, index = value, i
        indices.append(index)
    return indices


def rows(kind: str, count: int, length: int) -> np.ndarray:
    """Few different values, so that there are ties; among floats NaNs and both zeros."""
    rng = np.random.default_rng(length)
    x = rng.integers(-9, 10, (count, length)).astype(NUMPY[kind])
    x[:, -1] = -9
    x[0] = 3
    if kind == "f32":
        x[1, :: min(3, length)] = np.nan
        x[2] = np.where(rng.random(length) < 0.5, 0.0, -0.0)
        x[3] = np.nan
        x[4, length // 2] = np.inf
        x[4, length // 3] = -np.inf
    return x


@BOTH
@pytest.mark.parametrize("length", [2, 64, 1001])
@pytest.mark.parametrize("symbolic", [False, True], ids=["static", "symbolic"])
@pytest.mark.parametrize("contest", CONTESTS)
def test_the_comparison_says_which_lane_wins(
    contest: str, symbolic: bool, length: int, fast: bool, tmp_path: Path
) -> None:
    kind, comparison, start, least = CONTESTS[contest]
    x = rows(kind, 6, length)
    sizes = ("N", "V") if symbolic else x.shape
    text = written(CONTEST, kind, sizes, 1, start=start, comparison=comparison)
    got = np.full(6, -1)
    loaded = library(scheduled(text, fast=fast), tmp_path)
    call(loaded, x.shape if symbolic else (), x, got)
    assert got.tolist() == winners(x, least, greater=contest.endswith("gt"))


@pytest.mark.parametrize("predicate", ["oge", "ole", "ugt", "ult", "one"])
def test_no_other_comparison_is_a_contest(predicate: str, tmp_path: Path) -> None:
    """`not less` would take the last of equals, and unordered ones a NaN: these stay in order."""
    text = written(CONTEST, "f32", (5, 300), 1, start="0xff800000", comparison=f"cmpf {predicate}")
    assert "scf.for" not in scheduled(text)
    results: list[np.ndarray] = []
    for fast in (True, False):
        folder = tmp_path / str(fast)
        folder.mkdir()
        results.append(np.full(5, -1))
        call(library(scheduled(text, fast=fast), folder), (), rows("f32", 5, 300), results[-1])
    assert results[0].tolist() == results[1].tolist()


@pytest.mark.parametrize("sizes", [(3, 50000), ("N", "V"), (40000, 5), ("V", "N")])
def test_a_product_is_in_the_order_of_sums(
    sizes: tuple[int | str, int | str], tmp_path: Path
) -> None:
    axis = 1 if sizes in ((3, 50000), ("N", "V")) else 0
    shape = (3, 50000) if axis else (40000, 5)
    x = np.exp2(np.random.default_rng(0).uniform(-0.01, 0.01, shape)).astype(np.float32)
    text = written(REDUCTION, "f32", sizes, axis, start="1.0", op="mulf", marks="")
    got = np.zeros(shape[1 - axis], np.float32)
    symbolic = isinstance(sizes[0], str)
    call(library(scheduled(text), tmp_path), shape if symbolic else (), x, got)
    wanted = in_order(np.multiply, 1.0, x, axis)
    assert got.tolist() == wanted.tolist()
    assert got.tolist() != np.multiply.reduce(x, axis=axis).tolist()


EXTREMA = {"minimumf": (np.minimum, "0x7f800000"), "maximumf": (np.maximum, "0xff800000")}


@BOTH
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("op", EXTREMA)
def test_an_extremum_that_nobody_marked_is_that_of_ieee(
    op: str, axis: int, fast: bool, tmp_path: Path
) -> None:
    """A NaN wins, and -0.0 is less than +0.0."""
    function, start = EXTREMA[op]
    x = rows("f32", 6, 1000)
    x = x if axis else np.ascontiguousarray(x.T)
    text = written(REDUCTION, "f32", x.shape, axis, start=start, op=op, marks="")
    got = np.zeros(6, np.float32)
    call(library(scheduled(text, fast=fast), tmp_path), (), x, got)
    wanted = function.reduce(x, axis=axis)
    wanted[2] = -0.0 if op == "minimumf" else 0.0
    np.testing.assert_array_equal(got, wanted)
    assert np.signbit(got[2]) == (op == "minimumf")


@pytest.mark.parametrize("op", EXTREMA)
def test_only_a_marked_extremum_is_a_comparison_and_a_choice(op: str) -> None:
    for marks, settled in (("", False), (f"{{{SETTLED}}} ", True)):
        text = written(REDUCTION, "f32", (64, 64), 1, start=EXTREMA[op][1], op=op, marks=marks)
        code = scheduled(text)
        assert (f"= arith.{op}" in code) is not settled
        assert ("arith.cmpf" in code) is settled


@pytest.mark.parametrize(
    ("kind", "op", "start", "ordered"),
    [
        ("f32", "addf", "0.0", True),
        ("f32", "mulf", "1.0", True),
        ("bf16", "addf", "0.0", True),
        ("bf16", "mulf", "1.0", True),
        ("f32", "minimumf", "0x7f800000", False),
        ("bf16", "maximumf", "0xff80", False),
        ("i32", "addi", "0", False),
        ("i32", "muli", "1", False),
        ("i32", "minsi", "2147483647", False),
    ],
)
def test_chunks_and_pieces_have_an_order_where_it_can_be_seen(
    kind: str, op: str, start: str, ordered: bool
) -> None:
    """In one row after the other, and where threads share the pieces of a few long rows."""
    text = written(REDUCTION, kind, (2, 1 << 22), 1, start=start, op=op, marks="")
    assert (f"arith.constant {CHUNK} : index" in scheduled(text)) is ordered
    assert (f"arith.constant {CHUNK} : index" in scheduled(text, threads=True)) is ordered


@pytest.mark.parametrize("op", ["subf", "divf"])
def test_what_has_no_parts_is_no_kernel(op: str, tmp_path: Path) -> None:
    """`e - a` of parts cannot be joined: the loop stays as it was written."""
    text = written(REDUCTION, "f32", (4, 1000), 1, start="1.0", op=op, marks="")
    assert "scf.for" not in scheduled(text)
    x = np.exp2(np.random.default_rng(1).uniform(-0.01, 0.01, (4, 1000))).astype(np.float32)
    got = np.zeros(4, np.float32)
    call(library(scheduled(text), tmp_path), (), x, got)
    join = np.subtract if op == "subf" else np.divide
    wanted = np.ones(4, np.float32)
    for column in x.T:
        wanted = join(column, wanted)
    assert got.tolist() == wanted.tolist()
