"""The type rules that make a new shape: products, norms, layout, indexing, with their refusals."""

from __future__ import annotations

import pytest

from helpers.type_rules import (
    ATTRIBUTES,
    REDUCED,
    refusal,
    t,
)
from kina.dtypes import ANY
from kina.ops import OPS
from kina.rules.infer import infer
from kina.rules.parts import Attribute
from kina.types import Dim, TensorType

# Composites along an axis


def test_logsumexp_takes_its_axis_away() -> None:
    assert infer("logsumexp", [t("B", 4, "V")], {"axis": 1}) == t("B", "V")
    assert infer("logsumexp", [t("V", dtype="BF16")], {"axis": 0}) == t(dtype="BF16")
    assert refusal("logsumexp", [t(2, 3)], axis=2).blame == "axis"


@pytest.mark.parametrize("op", ["rms_norm", "layer_norm"])
def test_a_norm_has_parameters_along_its_axis(op: str) -> None:
    count = len(OPS[op].operands) - 1
    assert infer(op, [t("B", "V", 4), *[t("V")] * count], {"axis": 1, "eps": 1e-5}) == t(
        "B", "V", 4
    )
    wrong = refusal(op, [t(2, 3), *[t(3)] * (count - 1), t(2)], axis=1, eps=1e-5)
    assert wrong.blame == count
    assert "has shape [2], expected [3] (axis 1 of [2, 3])" in wrong.message
    other = refusal(op, [t(2, 3), *[t(3, dtype="F16")] * count], axis=1, eps=1e-5)
    assert "weight has dtype F16, expected F32 as operand" in other.message
    assert other.help == "there are no implicit conversions: write .cast(F32)"
    assert refusal(op, [t(2, 3), *[t(3)] * count], axis=2, eps=1e-5).blame == "axis"


@pytest.mark.parametrize("eps", [0.0, -1.0, float("inf"), float("nan")])
def test_eps_is_a_positive_number(eps: float) -> None:
    error = refusal("rms_norm", [t(2, 3), t(3)], axis=1, eps=eps)
    assert error.blame == "eps"
    assert "is not a positive number" in error.message


# Matrix products


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        ((2, 3), (3, 4), (2, 4)),
        ((1, 1), (1, 1), (1, 1)),
        (("M", "K"), ("K", "N"), ("M", "N")),
        (("B", 2, 5, "K"), ("B", 2, "K", 7), ("B", 2, 5, 7)),
        (("B", "T", "K"), ("K", "V"), ("B", "T", "V")),
        (("N", "N"), ("N", "N"), ("N", "N")),
    ],
)
def test_a_product_of_matrices(
    left: tuple[Dim, ...], right: tuple[Dim, ...], result: tuple[Dim, ...]
) -> None:
    assert infer("matmul", [t(*left), t(*right)], {}) == t(*result)


@pytest.mark.parametrize(
    ("left", "right", "blame", "words", "help_"),
    [
        ((2, 3), (4, 5), 1, "axis 1 of left is 3 and axis 0 of right is 4", None),
        ((2, "K"), (4, "K"), 1, "axis 1 of left is K", "write right.transpose([1, 0])"),
        ((5, 2, 3), (5, 4, 3), 1, "axis 1 of right is 4", "write right.transpose([0, 2, 1])"),
        (("B", 2, 3), (5, 3, 4), 1, "axis 0 is B and 5, expected equal sizes", None),
        ((2, 3), (5, 3, 4), 1, "of rank 2 as left", "write left.broadcast([5, 2, 3])"),
        ((6, 5, 2, 3), (5, 3, 4), 1, "expected right of rank 2, or of rank 4 as left", None),
        ((3,), (3, 4), 0, "left has shape [3], expected rank 2", "write .reshape([1, 3])"),
        ((2, 3), (3,), 1, "right has shape [3], expected rank 2", "write .reshape([3, 1])"),
        ((), (3, 4), 0, "left has shape [], expected rank 2 or more", None),
    ],
)
def test_matrices_that_do_not_fit(
    left: tuple[Dim, ...], right: tuple[Dim, ...], blame: int, words: str, help_: str | None
) -> None:
    error = refusal("matmul", [t(*left), t(*right)])
    assert words in error.message
    assert (error.blame, error.help) == (blame, help_)


def test_matrices_have_one_dtype() -> None:
    error = refusal("matmul", [t(2, 3, dtype="I8"), t(3, 4, dtype="I32")])
    assert "left has dtype I8 and right has dtype I32" in error.message


# Counting and layout


def test_an_order_of_axes() -> None:
    assert infer("transpose", [t("B", 2, 3)], {"axes": (2, 0, 1)}) == t(3, "B", 2)
    assert infer("transpose", [t()], {"axes": ()}) == t()


@pytest.mark.parametrize("axes", [(0,), (0, 0), (0, 2), (0, 1, 2), (), ("N", 0)])
def test_what_is_no_order_of_axes(axes: tuple[Dim, ...]) -> None:
    error = refusal("transpose", [t(2, 3)], axes=axes)
    assert "expected each of [0, 1] once" in error.message
    assert error.blame == "axes"


WHERE = t(dtype="I64")


def test_a_window_has_the_size_that_is_asked_for() -> None:
    assert infer("slice", [t(2, "N"), WHERE], {"axis": 1, "size": 4}) == t(2, 4)
    assert infer("slice", [t(2, 3), WHERE], {"axis": 0, "size": "N"}) == t("N", 3)
    assert infer("update", [t("N", 3), t("M", 3), WHERE], {"axis": 0}) == t("N", 3)


@pytest.mark.parametrize(
    ("types", "attributes", "blame", "words"),
    [
        ([t(2, 3), WHERE], {"axis": 1, "size": 4}, "size", "size 4 does not fit axis 1"),
        ([t(2, 3), t(1, dtype="I64")], {"axis": 1, "size": 1}, 1, "start has type"),
        ([t(2, 3), t(dtype="F32")], {"axis": 1, "size": 1}, 1, "start has type"),
        ([t(), WHERE], {"axis": 0, "size": 1}, "axis", "a rank-0 tensor has no axis"),
    ],
)
def test_a_window_that_is_none(
    types: list[TensorType], attributes: dict[str, Attribute], blame: int | str, words: str
) -> None:
    error = refusal("slice", types, **attributes)
    assert words in error.message
    assert error.blame == blame


@pytest.mark.parametrize(
    ("new", "at", "blame", "words"),
    [
        (t(2, 4), WHERE, 1, "new has size 4 at axis 1, expected at most 3"),
        (t(1, 3), WHERE, 1, "expected [2, 3] with another size at axis 1"),
        (t(2), WHERE, 1, "expected [2, 3] with another size at axis 1"),
        (t(2, 3, dtype="F16"), WHERE, 1, "new has dtype F16"),
        (t(2, 3), t(dtype="I8"), 2, "at has type tensor<I8, []>"),
    ],
)
def test_an_update_that_is_none(new: TensorType, at: TensorType, blame: int, words: str) -> None:
    error = refusal("update", [t(2, 3), new, at], axis=1)
    assert words in error.message
    assert error.blame == blame


def test_sizes_add_where_tensors_meet() -> None:
    assert infer("concat", [t("B", 2), t("B", 1), t("B", 4)], {"axis": 1}) == t("B", 7)
    assert infer("concat", [t("T", 2), t(1, 2), t("T", 2)], {"axis": 0}) == t("2 * T + 1", 2)


# Shapes


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ((), (2, 3)), ((1,), (4,)), ((3,), (2, 3)), ((1, 3), (2, 3)), ((2, 1), (2, 3)),
        (("N",), (2, "N")), ((1,), ("N",)), ((1, 1), (1, 4, 8)), ((2, 3), (2, 3)), ((), ()),
    ],
)  # fmt: skip
def test_broadcasts(source: tuple[Dim, ...], target: tuple[Dim, ...]) -> None:
    assert infer("broadcast", [t(*source)], {"dims": target}) == t(*target)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ((2,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2,), ()), (("N",), (4,)), ((4,), ("N",)),
        (("N",), ("M",)), ((2, 3), (2, 1)),
    ],
)  # fmt: skip
def test_broadcasts_that_are_refused(source: tuple[Dim, ...], target: tuple[Dim, ...]) -> None:
    error = refusal("broadcast", [t(*source)], dims=target)
    assert (error.blame, "does not broadcast to" in error.message) == ("dims", True)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ((2, 3), (6,)), ((2, 3), (3, 2)), ((1,), ()), ((), (1, 1)), (("N", 6), (2, "N", 3)),
        (("N", "M"), ("M", "N")), (("N", "N"), ("N", "N", 1)),
    ],
)  # fmt: skip
def test_reshapes(source: tuple[Dim, ...], target: tuple[Dim, ...]) -> None:
    assert infer("reshape", [t(*source)], {"dims": target}) == t(*target)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ((2, 3), (5,)), ((2,), ()), (("N",), ("M",)), (("N", "N"), ("N",)), (("N", 2), ("N",)),
        (("N",), (4,)), (("N", "M"), ("N", "N")),
    ],
)  # fmt: skip
def test_reshapes_that_are_refused(source: tuple[Dim, ...], target: tuple[Dim, ...]) -> None:
    error = refusal("reshape", [t(*source)], dims=target)
    assert (error.blame, "expected the same number" in error.message) == ("dims", True)


# Indexing


@pytest.mark.parametrize("indices", [(), (5,), ("B", 4)])
def test_gather_puts_a_row_at_every_index(indices: tuple[Dim, ...]) -> None:
    types = [t("V", 8), t(*indices, dtype="I64")]
    assert infer("gather", types, {}) == t(*indices, 8)


@pytest.mark.parametrize("values", [(), (4,), (2, 3, 4)])
def test_gather_takes_a_table(values: tuple[int, ...]) -> None:
    error = refusal("gather", [t(*values), t(2, dtype="I64")])
    assert (error.blame, "expected rank 2" in error.message) == (0, True)
    assert (error.help is not None) == (len(values) > 2)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_take_along_axis_removes_the_axis(axis: int) -> None:
    types = [t("B", 4, "V", dtype="I8"), t(*REDUCED[axis], dtype="I64")]
    assert infer("take_along_axis", types, {"axis": axis}) == t(*REDUCED[axis], dtype="I8")


@pytest.mark.parametrize("op", ["gather", "take_along_axis"])
@pytest.mark.parametrize("dtype", sorted(ANY - {"I64"}))
def test_indices_are_i64(op: str, dtype: str) -> None:
    error = refusal(op, [t(2, 3), t(2, dtype=dtype)], **ATTRIBUTES.get(op, {}))
    assert (error.blame, f"indices have dtype {dtype}, expected I64" in error.message) == (1, True)
    assert (error.help is not None) == (dtype in ("I32", "I16", "I8", "I4"))


@pytest.mark.parametrize("values", [(), (8,), ("V",)])
def test_take_along_axis_needs_rank_2(values: tuple[Dim, ...]) -> None:
    error = refusal("take_along_axis", [t(*values), t(dtype="I64")], axis=0)
    assert (error.blame, "expected rank 2 or more" in error.message) == (0, True)


@pytest.mark.parametrize(
    "indices", [(3,), (2, 3), (2, 1), (), ("N",), (1,)], ids=lambda dims: str(list(dims))
)
def test_take_along_axis_needs_the_shape_without_the_axis(indices: tuple[Dim, ...]) -> None:
    error = refusal("take_along_axis", [t(2, 3), t(*indices, dtype="I64")], axis=1)
    assert error.blame == 1
    assert "expected [2] (values [2, 3] without axis 1)" in error.message


def test_symbols_match_by_name() -> None:
    values = t("B", "T", "V")
    infer("take_along_axis", [values, t("B", "T", dtype="I64")], {"axis": 2})
    refusal("take_along_axis", [values, t("T", "B", dtype="I64")], axis=2)
