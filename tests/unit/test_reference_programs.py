"""The reference on whole programs: calls, demand, program order, and its errors."""

from __future__ import annotations

import warnings
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import kina
from helpers.inputs import random_array
from kina.dtypes import F32
from kina.frontend.check import check
from kina.frontend.irgen import generate
from kina.frontend.source import Source
from kina.passes.decompose_kina import DecomposeKina
from kina.passes.inline_calls import InlineCalls
from kina.passes.lower_kina import LowerKina
from kina.passes.simplify_kina import SimplifyKina
from kina.reference import evaluate, first_failure, meaning

TEXT = """\
let pick = fn(values: tensor<F32, [R, C]>, at: tensor<I64, [R]>) -> tensor<F32, [R]> {
  values.take_along_axis(at, axis=1)
}
let nll = fn(logits: tensor<F32, [B, V]>, targets: tensor<I64, [B]>) -> tensor<F32, [B]> {
  -pick(logits.log_softmax(axis=1), targets)
}
let two = fn(x: tensor<F32, [2, 3]>, i: tensor<I64, [2]>, j: tensor<I64, [4]>)
    -> (tensor<F32, [2]>, tensor<F32, [4, 3]>) {
  let first = x.take_along_axis(i, axis=1) in
  (first, x.gather(j))
}
let dead = fn(x: tensor<F32, [2, 3]>, i: tensor<I64, [2]>) -> tensor<F32, [2, 3]> {
  let unused = pick(x, i) in
  x
}
let chained = fn(x: tensor<F32, [4, 3]>, i: tensor<I64, [5]>, big: tensor<F32, [5, 3]>)
    -> tensor<F32, [5]> {
  let rows = x.gather(i) in
  let best = rows.reduce(op=argmax, axis=1) in
  (big + big).take_along_axis(best, axis=1)
}
let scalar = fn(x: tensor<F32, [4, 3]>, i: tensor<I64, []>) -> tensor<F32, [3]> { x.gather(i) }
"""


def functions(text: str = TEXT, name: str = "reference.kina") -> dict[str, FuncOp]:
    module = generate(check(Source(name, text)))
    return {op.sym_name.data: op for op in module.ops if isinstance(op, FuncOp)}


@pytest.fixture(scope="module")
def program() -> dict[str, FuncOp]:
    return functions()


@pytest.fixture
def no_softmax(monkeypatch: pytest.MonkeyPatch) -> None:
    """Computing a log_softmax is an error."""

    def fail(*_: object) -> np.ndarray:
        raise AssertionError("log_softmax was computed")

    monkeypatch.setitem(meaning.MEANINGS, "log_softmax", fail)


def message(error: kina.KinaIndexError | None) -> str:
    assert error is not None
    return error.diagnostics[0].message


def test_a_call_gives_what_its_callee_gives(program: dict[str, FuncOp]) -> None:
    x = random_array(np.random.default_rng(0), F32, (2, 5))
    at = np.array([4, 0])
    (got,) = evaluate(program["nll"], [x, at])
    wide = x.astype(np.float64)
    wanted = np.log(np.exp(wide).sum(1)) - wide[[0, 1], at]
    np.testing.assert_allclose(got, wanted, rtol=1e-6)
    assert got.dtype == np.float32


@pytest.mark.usefixtures("no_softmax")
def test_first_failure_computes_only_what_indices_need(program: dict[str, FuncOp]) -> None:
    x = np.zeros((2, 5), np.float32)
    assert first_failure(program["nll"], [x, np.array([0, 4])]) is None
    error = first_failure(program["nll"], [x, np.array([0, 5])])
    assert message(error) == (
        "take_along_axis: index 5 at [1] of indices is outside 0 .. 4 (axis 1 of values [2, 5])"
    )


def test_first_failure_follows_indices_that_are_computed(program: dict[str, FuncOp]) -> None:
    """The gather runs because the indices of the take come from it; `big + big` does not."""
    x, big = np.zeros((4, 3), np.float32), np.zeros((5, 3), np.float32)
    assert first_failure(program["chained"], [x, np.array([0, 1, 2, 3, 0]), big]) is None
    error = first_failure(program["chained"], [x, np.array([0, 1, -1, 9, 0]), big])
    assert message(error) == (
        "gather: index -1 at [2] of indices is outside 0 .. 3 (axis 0 of values [4, 3])"
    )


def test_checks_fail_in_program_order(program: dict[str, FuncOp]) -> None:
    x = np.zeros((2, 3), np.float32)
    good, bad = np.array([0, 1]), np.array([0, 3])
    rows, bad_rows = np.array([0, 1, 1, 0]), np.array([0, 2, 1, 0])
    for indices, words in (((bad, bad_rows), "take_along_axis"), ((good, bad_rows), "gather")):
        error = first_failure(program["two"], [x, *indices])
        assert message(error).startswith(f"{words}: index")
        with pytest.raises(kina.KinaIndexError) as caught:
            evaluate(program["two"], [x, *indices])
        assert str(caught.value) == str(error)
    assert first_failure(program["two"], [x, good, rows]) is None


def test_the_check_of_an_unused_call_holds(program: dict[str, FuncOp]) -> None:
    x = np.ones((2, 3), np.float32)
    with pytest.raises(kina.KinaIndexError):
        evaluate(program["dead"], [x, np.array([0, 3])])
    (got,) = evaluate(program["dead"], [x, np.array([0, 2])])
    np.testing.assert_array_equal(got, x)
    assert not np.shares_memory(got, x)


@pytest.mark.parametrize("index", [8, -1, 2**32 + 1, 2**63 - 1, -(2**63)])
def test_no_index_wraps(program: dict[str, FuncOp], index: int) -> None:
    error = first_failure(program["scalar"], [np.zeros((4, 3), np.float32), np.array(index)])
    assert message(error) == (
        f"gather: index {index} of indices is outside 0 .. 3 (axis 0 of values [4, 3])"
    )


def test_the_error_quotes_the_line_that_is_given(program: dict[str, FuncOp]) -> None:
    x = np.zeros((2, 5), np.float32)
    error = first_failure(program["nll"], [x, np.array([9, 0])], TEXT.split("\n"))
    assert str(error) == (
        "reference.kina:2:10: error: take_along_axis: index 9 at [0] of indices is outside 0 .. 4 "
        "(axis 1 of values [2, 5])\n"
        "  2 |   values.take_along_axis(at, axis=1)\n"
        "    |          ^~~~~~~~~~~~~~~"
    )


def test_the_error_reads_the_file_if_it_is_there(tmp_path: Path) -> None:
    path = tmp_path / "a b.kina"
    path.write_text(TEXT, encoding="utf-8")
    program = functions(name=str(path))
    arrays = [np.zeros((2, 5), np.float32), np.array([9, 0])]
    assert "\n  2 |   values.take_along_axis" in str(first_failure(program["nll"], arrays))
    path.unlink()
    assert str(first_failure(program["nll"], arrays)).startswith(f"{path}:2:10: error: ")
    path.write_bytes(b"\xff\xfe")
    assert "\n" not in str(first_failure(program["nll"], arrays))


SIMPLIFIED = (InlineCalls, SimplifyKina)


@pytest.mark.parametrize(
    "passes", [(InlineCalls,), SIMPLIFIED, (*SIMPLIFIED, DecomposeKina, SimplifyKina)]
)
def test_passes_keep_meaning_and_checks(passes: tuple[type, ...]) -> None:
    x = random_array(np.random.default_rng(1), F32, (2, 5))
    at, bad = np.array([4, 0]), np.array([1, 7])
    (wanted,) = evaluate(functions()["nll"], [x, at])
    rewritten = functions()
    module = rewritten["nll"].parent_op()
    assert isinstance(module, ModuleOp)
    for pass_ in passes:
        pass_().apply(Context(), module)
    module.verify()
    (got,) = evaluate(rewritten["nll"], [x, at])
    np.testing.assert_array_max_ulp(got, wanted, 8)
    error = first_failure(rewritten["nll"], [x, bad])
    assert "take_along_axis: index 7 at [1] of indices is outside 0 .. 4" in message(error)
    assert str(error).startswith("reference.kina:2:10: ")


def test_lowered_ir_has_no_meaning_here() -> None:
    lowered = functions("let f = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> { -x }")["f"]
    module = lowered.parent_op()
    assert isinstance(module, ModuleOp)
    LowerKina().apply(Context(), module)
    (function,) = (op for op in module.ops if isinstance(op, FuncOp))
    with pytest.raises(ValueError, match="has no meaning in the reference"):
        evaluate(function, [np.zeros(2, np.float32)])


def test_nothing_warns() -> None:
    """Overflow, NaN, division by zero and wrapping are results, not mistakes."""
    text = """
    let f = fn(x: tensor<F32, [3]>, i: tensor<I8, [2]>, h: tensor<I4, [2]>) -> (
      tensor<F32, [3]>, tensor<I32, [3]>, tensor<F8E4M3, [3]>, tensor<I8, [2]>, tensor<I4, [2]>
    ) {
      let y = log(x - x) / (x - x) in
      (y, (x * x).cast(I32), (x * x).cast(F8E4M3), i * i + i, h * h - h)
    }
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = evaluate(
            functions(text)["f"],
            [
                np.array([3e38, -np.inf, np.nan], np.float32),
                np.array([127, -128], np.int8),
                np.array([7, -8], ml_dtypes.int4),
            ],
        )
    assert got[1].tolist() == [2**31 - 1, 2**31 - 1, 0]
    assert got[3].tolist() == [-128, -128]
    assert got[4].astype(int).tolist() == [-6, -8]


def test_a_literal_keeps_its_payload() -> None:
    text = """
    let f = fn() -> (tensor<F32, [2, 2]>, tensor<I4, [3]>, tensor<Bool, [3]>, tensor<BF16, [2]>) {
      (tensor<F32, [2, 2]>(1, -inf, nan, -0.0), tensor<I4, [3]>(-8, 7, 1),
       tensor<Bool, [3]>(true, false, true), tensor<BF16, [2]>(0.1))
    }
    """
    floats, nibbles, flags, splat = evaluate(functions(text)["f"], [])
    np.testing.assert_array_equal(floats, [[1, -np.inf], [np.nan, -0.0]])
    assert np.signbit(floats[1, 1])
    assert nibbles.astype(int).tolist() == [-8, 7, 1]
    assert flags.tolist() == [True, False, True]
    assert splat.tolist() == [ml_dtypes.bfloat16(0.1)] * 2
