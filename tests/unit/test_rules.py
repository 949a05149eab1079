"""The type rules, table by table: every operation with each of its refusals."""

from __future__ import annotations

import pytest

from helpers.type_rules import (
    ATTRIBUTES,
    BINARY,
    COMPARED,
    DEVICE,
    HOST,
    NORMALIZE,
    REDUCED,
    UNARY,
    operands,
    refusal,
    t,
    usual,
)
from kina.dtypes import ANY, BOOL, BOOLS, DTYPES, F32, FREM, I64, INTS, NUMERIC
from kina.ops import OPS, REDUCTIONS
from kina.rules.infer import infer
from kina.rules.parts import Attribute
from kina.types import Dim, TensorType

# Dtypes and placements, the same way for every operation

FLOATING = (
    "exp", "log", "expm1", "log1p", "tanh", "erf", "sqrt", "softmax", "log_softmax",
    "sigmoid", "log_sigmoid", "softplus", "silu", "gelu", "gelu_tanh", "xlogy",
    "logsumexp", "rms_norm", "layer_norm",
)  # fmt: skip
ADMITTED: dict[str, frozenset[str]] = {
    **dict.fromkeys(("neg", "add", "sub", "mul", "div", "matmul", "cumsum", "top_k"), NUMERIC),
    **dict.fromkeys(("abs", "maximum", "minimum", "clamp"), NUMERIC),
    **dict.fromkeys(FLOATING, FREM),
    **dict.fromkeys(("floor", "ceil", "round"), FREM),
    **dict.fromkeys(("rem", "bit_and", "bit_or", "bit_xor", "shift_left", "shift_right"), INTS),
    **dict.fromkeys(("logical_and", "logical_or", "logical_not", "select"), BOOLS),
    **dict.fromkeys((*COMPARED, "stop_gradient"), ANY),
    **dict.fromkeys(("broadcast", "reshape", "gather", "take_along_axis", "cast"), ANY),
    **dict.fromkeys(("iota", "transpose", "slice", "concat", "update"), ANY),
    **dict.fromkeys(("reduce", "reduce_keep"), ANY),
    "random_uniform": frozenset({"I64"}),
}
"""What the language page says, against the table."""


def test_the_table_of_this_test_is_complete() -> None:
    assert ADMITTED.keys() == OPS.keys()
    assert len(DTYPES) == 11
    assert {"F16", "BF16", "F32", "F8E4M3", "F8E5M2"} == FREM


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", OPS)
def test_dtypes(op: str, dtype: str) -> None:
    attributes = ATTRIBUTES.get(op, {})
    if dtype in ADMITTED[op]:
        if dtype == "Bool" and "op" in attributes:
            attributes = {**attributes, "op": "any"}
        infer(op, operands(op, dtype), attributes)
        return
    error = refusal(op, operands(op, dtype), **attributes)
    assert error.blame == 0
    assert f"dtype {dtype}, expected" in error.message


@pytest.mark.parametrize("op", OPS)
def test_placements(op: str) -> None:
    """Only what checks an index has no rule on @device (seed 9); what counts is on @host."""
    attributes = ATTRIBUTES.get(op, {})
    on_device = operands(op, place=DEVICE)
    if not on_device:
        assert infer(op, [], attributes).placement is HOST
    elif not OPS[op].device:
        error = refusal(op, on_device, **attributes)
        assert "on @device, expected @host" in error.message
    else:
        assert infer(op, on_device, attributes).placement is DEVICE


@pytest.mark.parametrize("op", [op.name for op in OPS.values() if len(op.operands) == 2])
def test_operands_share_a_placement(op: str) -> None:
    for places in ((HOST, DEVICE), (DEVICE, HOST)):
        types = [
            TensorType(type_.dtype, type_.dims, place)
            for type_, place in zip(operands(op), places, strict=True)
        ]
        error = refusal(op, types, **ATTRIBUTES.get(op, {}))
        assert error.blame == 1
        assert f"is on @{places[1].value}, expected @{places[0].value}" in error.message


# Elementwise


@pytest.mark.parametrize("op", UNARY)
@pytest.mark.parametrize("dims", [(), (1,), (2, "N"), ("N", "M", 3, 1, 2)])
def test_unary_keeps_the_type(op: str, dims: tuple[Dim, ...]) -> None:
    type_ = t(*dims, dtype=usual(op))
    assert infer(op, [type_], {}) == type_


@pytest.mark.parametrize("op", BINARY)
@pytest.mark.parametrize("dims", [(), (1,), (2, "N"), ("N", "M", 3, 1, 2)])
def test_binary_keeps_the_type(op: str, dims: tuple[Dim, ...]) -> None:
    type_ = t(*dims, dtype=usual(op))
    assert infer(op, [type_] * 2, {}) == type_


@pytest.mark.parametrize("op", COMPARED)
@pytest.mark.parametrize("dtype", DTYPES)
def test_a_comparison_is_bool(op: str, dtype: str) -> None:
    type_ = t(2, "N", dtype=dtype, place=DEVICE)
    assert infer(op, [type_] * 2, {}) == type_.with_dtype(BOOL)


@pytest.mark.parametrize("op", [*BINARY, *COMPARED])
def test_binary_needs_equal_dtypes(op: str) -> None:
    mine = usual(op)
    error = refusal(op, [t(2, dtype=mine), t(2, dtype="BF16")])
    assert error.blame == 1
    assert f"left has dtype {mine} and right has dtype BF16" in error.message
    assert error.help is not None
    assert f".cast({mine})" in error.help


def test_the_limits_of_clamp_have_its_type() -> None:
    assert infer("clamp", [t(2, "N")] * 3, {}) == t(2, "N")
    error = refusal("clamp", [t(2), t(2), t(3)])
    assert error.blame == 2
    assert "operand has shape [2] and high has shape [3], expected equal shapes" in error.message
    error = refusal("clamp", [t(2), t(2, dtype="F16"), t(2)])
    assert error.blame == 1
    assert "operand has dtype F32 and low has dtype F16" in error.message


def test_a_choice_has_the_type_of_its_alternatives() -> None:
    condition = t(2, "N", dtype="Bool")
    for dtype in DTYPES:
        either = t(2, "N", dtype=dtype)
        assert infer("select", [condition, either, either], {}) == either
    error = refusal("select", [condition, t(2, "N"), t(2, "N", dtype="I8")])
    assert error.blame == 2
    assert "on_true has dtype F32 and on_false has dtype I8" in error.message
    error = refusal("select", [t(2, dtype="Bool"), t(3, 2), t(3, 2)])
    assert error.blame == 1
    assert "condition has shape [2] and on_true has shape [3, 2]" in error.message
    error = refusal("select", [t(2)] * 3)
    assert error.blame == 0
    assert "condition has dtype F32, expected Bool" in error.message
    assert error.help is not None
    assert "x > 0" in error.help


@pytest.mark.parametrize("op", [*BINARY, *COMPARED])
@pytest.mark.parametrize(
    ("left", "right", "help_"),
    [
        ((2, 3), (3, 2), None),
        ((2, 3), (3,), "[2, 3]"),
        ((1,), (5,), "[5]"),
        ((), (4,), "[4]"),
        (("N",), ("M",), None),
        (("N",), (4,), None),
        (("N", 1), ("N", "M"), "[N, M]"),
    ],
)
def test_binary_needs_equal_shapes(
    op: str, left: tuple[Dim, ...], right: tuple[Dim, ...], help_: str | None
) -> None:
    for shapes in ((left, right), (right, left)):
        error = refusal(op, [t(*shape, dtype=usual(op)) for shape in shapes])
        assert error.blame == 1
        assert "expected equal shapes" in error.message
        assert (help_ is None) == (error.help is None)
        assert help_ is None or f".broadcast({help_})" in (error.help or "")


@pytest.mark.parametrize("source", DTYPES.values(), ids=str)
@pytest.mark.parametrize("target", DTYPES.values(), ids=str)
def test_every_cast_is_admitted(source: object, target: object) -> None:
    operand = TensorType(source, ("N", 3))
    assert infer("cast", [operand], {"dtype": target}) == TensorType(target, ("N", 3))


# Axes


AXIS_OPS = [("softmax", {}), ("log_softmax", {}), ("take_along_axis", {}), ("top_k", {"k": 1})] + [
    (name, {"op": kind}) for name in ("reduce", "reduce_keep") for kind in ("sum", "max", "argmax")
]


@pytest.mark.parametrize(("op", "extra"), AXIS_OPS)
@pytest.mark.parametrize(
    ("axis", "help_"), [(2, None), (99, None), (-1, "here axis=1"), (-2, "here axis=0"), (-3, None)]
)
def test_axis_out_of_range(
    op: str, extra: dict[str, Attribute], axis: int, help_: str | None
) -> None:
    error = refusal(op, operands(op), axis=axis, **extra)
    assert error.blame == "axis"
    assert f"axis={axis} is out of range for shape [2, 3], expected 0 <= axis < 2" in error.message
    assert (error.help is None) if help_ is None else (help_ in (error.help or ""))


@pytest.mark.parametrize("op", ["softmax", "log_softmax", "reduce", "reduce_keep"])
def test_rank_0_has_no_axis(op: str) -> None:
    extra = {"op": "max"} if op.startswith("reduce") else {}
    assert "a rank-0 tensor has no axis" in refusal(op, [t()], axis=0, **extra).message


@pytest.mark.parametrize("op", NORMALIZE)
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_normalize_keeps_the_type(op: str, axis: int) -> None:
    assert infer(op, [t("B", 4, "V")], {"axis": axis}) == t("B", 4, "V")


# Selection


def test_top_k_has_k_places_at_its_axis() -> None:
    assert infer("top_k", [t("B", 4, "V")], {"k": 3, "axis": 1}) == t("B", 3, "V", dtype="I64")
    assert infer("top_k", [t("B", "V")], {"k": 50, "axis": 1}) == t("B", 50, dtype="I64")
    assert infer("top_k", [t(4, dtype="I4")], {"k": 4, "axis": 0}) == t(4, dtype="I64")


@pytest.mark.parametrize("k", [0, -1, 4, 1 << 63])
def test_top_k_takes_no_more_than_there_are(k: int) -> None:
    error = refusal("top_k", [t(2, 3)], k=k, axis=1)
    assert error.blame == "k"
    wanted = "axis 1 of shape [2, 3] has, expected 1 .. 3" if k == 4 else "expected 1 or more"
    assert f"k={k} is" in error.message
    assert error.message.endswith(wanted)


# Reductions

KEPT = {0: (1, 4, "V"), 1: ("B", 1, "V"), 2: ("B", 4, 1)}


@pytest.mark.parametrize("kind", ["sum", "max", "min", "mean", "argmax"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_reductions_remove_or_keep_the_axis(kind: str, axis: int) -> None:
    dtype = "I64" if kind == "argmax" else "F16"
    attributes = {"op": kind, "axis": axis}
    operand = t("B", 4, "V", dtype="F16")
    assert infer("reduce", [operand], attributes) == t(*REDUCED[axis], dtype=dtype)
    assert infer("reduce_keep", [operand], attributes) == t(*KEPT[axis], dtype=dtype)


@pytest.mark.parametrize("op", ["reduce", "reduce_keep"])
@pytest.mark.parametrize("kind", REDUCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_of_reductions(op: str, kind: str, dtype: str) -> None:
    """Numbers, mean for floats alone (seed 17: argmax as max, so no Bool); any and all for Bool."""
    only = {"mean": FREM, "any": {"Bool"}, "all": {"Bool"}}
    if dtype in only.get(kind, NUMERIC):
        result = infer(op, [t(2, 3, dtype=dtype)], {"op": kind, "axis": 0})
        assert result.dtype.name == ("I64" if kind in ("argmax", "argmin") else dtype)
        return
    error = refusal(op, [t(2, 3, dtype=dtype)], op=kind, axis=0)
    assert error.blame == 0
    assert f"dtype {dtype}, expected" in error.message


def test_an_unknown_reduction() -> None:
    error = refusal("reduce", [t(2, 3)], op="median", axis=0)
    assert error.blame == "op"
    assert "expected sum, max, min, mean, argmax, argmin, prod, any or all" in error.message


@pytest.mark.parametrize("op", ["reduce", "reduce_keep"])
def test_only_contests_are_bound_to_the_host(op: str) -> None:
    for kind in ("sum", "max", "min", "mean", "prod"):
        assert infer(op, [t(2, 3, place=DEVICE)], {"op": kind, "axis": 0}).placement is DEVICE
    for kind in ("argmax", "argmin"):
        error = refusal(op, [t(2, 3, place=DEVICE)], op=kind, axis=0)
        assert (error.blame, "on @device, expected @host" in error.message) == (0, True)


def test_argmax_is_i64_whatever_comes_in() -> None:
    for dtype in NUMERIC:
        assert infer("reduce", [t(3, dtype=dtype)], {"op": "argmax", "axis": 0}).dtype is I64
    assert BOOL.name not in NUMERIC
    assert F32.name in NUMERIC
