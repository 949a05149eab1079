"""The tests that seed 9 lists: log_softmax (3.5) and take_along_axis (4.5)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kina
from helpers.refusals import refused
from helpers.tools import EXAMPLES, lowered, lowered_text


def log_softmax_f64(x: np.ndarray, axis: int) -> np.ndarray:
    wide = x.astype(np.float64)
    shifted = wide - wide.max(axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def log_softmax_program(shape: list[int], axis: int, dtype: str = "F32") -> str:
    type_ = f"tensor<{dtype}, {shape}>"
    return f"let f = fn(x: {type_}) -> {type_} {{ x.log_softmax(axis={axis}) }}"


def take_program(
    values: list[int], indices: list[int], axis: int, dtype: str = "I64", place: str = "@host"
) -> str:
    result = [size for position, size in enumerate(values) if position != axis]
    return (
        f"let f = fn(v: tensor<F32, {values}, {place}>, i: tensor<{dtype}, {indices}, {place}>)"
        f" -> tensor<F32, {result}, {place}> {{ v.take_along_axis(i, axis={axis}) }}"
    )


def check_log_softmax(shape: list[int], axis: int) -> None:
    x = np.random.default_rng(9).normal(0, 4, shape).astype(np.float32)
    got = kina.compile(log_softmax_program(shape, axis)).f(x)
    np.testing.assert_allclose(got, log_softmax_f64(x, axis), rtol=4 * 2**-23, atol=1e-6)
    np.testing.assert_allclose(np.exp(got.astype(np.float64)).sum(axis), 1, rtol=1e-6)


def test_last_axis_log_softmax_on_rank_2() -> None:
    check_log_softmax([3, 8], 1)


def test_last_axis_log_softmax_on_rank_3() -> None:
    check_log_softmax([2, 4, 8], 2)


def test_log_softmax_interior_axis() -> None:
    check_log_softmax([2, 5, 3], 1)


def test_log_softmax_integer_dtype_rejected() -> None:
    refused(
        log_softmax_program([2, 3], 1, "I32"), "log_softmax: operand has dtype I32, expected F16"
    )


@pytest.mark.parametrize("axis", [2, 7])
def test_log_softmax_axis_out_of_range_rejected(axis: int) -> None:
    refused(log_softmax_program([2, 3], axis), rf"log_softmax: axis={axis} is out of range")


@pytest.mark.parametrize(("shape", "axis"), [([3, 8], 1), ([2, 4, 8], 2), ([2, 5, 3], 1)])
def test_log_softmax_emitted_mlir_is_accepted_by_mlir_opt(
    shape: list[int], axis: int, tmp_path: Path
) -> None:
    emitted = lowered_text(log_softmax_program(shape, axis), tmp_path)
    # The stable form of seed 9: subtract the maximum, and never take a log of a quotient.
    for part in ("arith.subf", "math.exp", "math.log"):
        assert part in emitted
    assert "arith.divf" not in emitted


def test_rank_3_last_axis_select() -> None:
    values = np.random.default_rng(1).normal(size=(2, 4, 8)).astype(np.float32)
    indices = np.random.default_rng(2).integers(0, 8, (2, 4))
    got = kina.compile(take_program([2, 4, 8], [2, 4], 2)).f(values, indices)
    np.testing.assert_array_equal(got, np.take_along_axis(values, indices[..., None], 2)[..., 0])


def test_take_along_axis_interior_axis() -> None:
    """`[B, V, T]` with axis=1."""
    values = np.random.default_rng(3).normal(size=(2, 5, 3)).astype(np.float32)
    indices = np.random.default_rng(4).integers(0, 5, (2, 3))
    got = kina.compile(take_program([2, 5, 3], [2, 3], 1)).f(values, indices)
    np.testing.assert_array_equal(got, np.take_along_axis(values, indices[:, None], 1)[:, 0])


@pytest.mark.parametrize("indices", [[1, 8], [4, 1], [1, 4, 8], [4], []])
def test_take_along_axis_shape_mismatch_rejected(indices: list[int]) -> None:
    refused(take_program([1, 4, 8], indices, 2), r"indices have shape .*, expected \[1, 4\]")


@pytest.mark.parametrize("dtype", ["I32", "I16", "I8", "I4", "F32", "Bool"])
def test_take_along_axis_non_i64_indices_rejected(dtype: str) -> None:
    refused(take_program([1, 4, 8], [1, 4], 2, dtype), f"indices have dtype {dtype}, expected I64")


def test_take_along_axis_device_operands_rejected() -> None:
    refused(take_program([1, 4, 8], [1, 4], 2, place="@device"), "on @device, expected @host")


@pytest.mark.parametrize("axis", [3, 9])
def test_take_along_axis_axis_out_of_range_rejected(axis: int) -> None:
    refused(take_program([1, 4, 8], [1, 4], axis), f"take_along_axis: axis={axis} is out of range")


def test_take_along_axis_rank_1_values_rejected() -> None:
    refused(take_program([8], [], 0), r"values have shape \[8\], expected rank 2 or more")


def test_take_along_axis_emitted_mlir_checks_in_one_place(tmp_path: Path) -> None:
    """Seed 9, 4.3: a bounds generic, then one that extracts; the assert stands outside of both."""
    emitted = lowered_text(take_program([1, 4, 8], [1, 4], 2), tmp_path)
    assert emitted.count("cf.assert") == 1
    assert "take_along_axis: index out of range 0 .. 7 (axis 2)" in emitted
    assert "tensor.extract" in emitted


def test_composed_log_softmax_take_along_axis_neg_example() -> None:
    """storylm0_nll.kina"""
    lowered(EXAMPLES / "storylm0_nll.kina")
    module = kina.load(EXAMPLES / "storylm0_nll.kina")
    logits = np.random.default_rng(5).normal(0, 3, (1, 4, 8)).astype(np.float32)
    targets = np.array([[3, 0, 7, 3]])
    wanted = -np.take_along_axis(log_softmax_f64(logits, 2), targets[..., None], 2)[..., 0]
    got = module.nll(logits, targets)
    assert got.shape == (1, 4)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, wanted, rtol=4 * 2**-23, atol=1e-6)


def test_out_of_range_targets_trap_and_the_next_call_is_right() -> None:
    module = kina.load(EXAMPLES / "storylm0_nll.kina")
    logits = np.zeros((1, 4, 8), np.float32)
    bad = np.array([[0, 1, 8, -1]])
    with pytest.raises(
        kina.KinaIndexError, match=r"index 8 at \[0, 2\] of indices is outside 0 .. 7"
    ):
        module.nll(logits, bad)
    assert bad.tolist() == [[0, 1, 8, -1]]
    np.testing.assert_allclose(module.nll(logits, np.zeros((1, 4), np.int64)), np.log(8), rtol=1e-6)
