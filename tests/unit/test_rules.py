"""The type rules, table by table: every operation with each of its refusals."""

from __future__ import annotations

import pytest

from kina.dtypes import ANY, BOOL, BOOLS, DTYPES, F32, FREM, I32, I64, INTS, NUMERIC
from kina.ops import OPS, REDUCTIONS, Family
from kina.rules.infer import infer
from kina.rules.parts import Attribute, RuleError
from kina.types import Dim, Placement, TensorType

HOST, DEVICE = Placement.HOST, Placement.DEVICE
UNARY = [op.name for op in OPS.values() if op.family is Family.UNARY]
BINARY = [op.name for op in OPS.values() if op.family is Family.BINARY]
COMPARED = [op.name for op in OPS.values() if op.family is Family.COMPARE]
NORMALIZE = [op.name for op in OPS.values() if op.family is Family.NORMALIZE]


def t(*dims: Dim, dtype: str = "F32", place: Placement = HOST) -> TensorType:
    return TensorType(DTYPES[dtype], dims, place)


ATTRIBUTES: dict[str, dict[str, Attribute]] = {
    "broadcast": {"dims": (2, 3)},
    "reshape": {"dims": (3, 2)},
    "reduce": {"op": "sum", "axis": 1},
    "reduce_keep": {"op": "sum", "axis": 1},
    "softmax": {"axis": 1},
    "log_softmax": {"axis": 1},
    "cumsum": {"axis": 1},
    "logsumexp": {"axis": 1},
    "rms_norm": {"axis": 1, "eps": 1e-5},
    "layer_norm": {"axis": 1, "eps": 1e-5},
    "take_along_axis": {"axis": 1},
    "cast": {"dtype": I32},
    "iota": {"dims": (2, 3), "axis": 1},
    "random_uniform": {"dims": (2, 3)},
    "transpose": {"axes": (1, 0)},
    "slice": {"axis": 1, "size": 2},
    "concat": {"axis": 1},
    "update": {"axis": 1},
    "top_k": {"k": 2, "axis": 1},
}
"""Arguments that fit an operand of shape [2, 3]."""


def usual(op: str) -> str:
    """A dtype that the operation takes."""
    return next((name for name in ("F32", "I32", "Bool", "I64") if name in OPS[op].dtypes), "F32")


def operands(op: str, dtype: str | None = None, place: Placement = HOST) -> list[TensorType]:
    """Operands of shape [2, 3] that are right in everything else."""
    dtype = usual(op) if dtype is None else dtype
    first = t(2, 3, dtype=dtype, place=place)
    if OPS[op].family is Family.INDEXING:
        return [first, t(2, dtype="I64", place=place)]
    if OPS[op].family is Family.CHOICE:
        return [first, *[t(2, 3, place=place)] * 2]
    if OPS[op].family is Family.FIBER:
        parameter = t(3, dtype=first.dtype.name, place=place)
        return [first, *[parameter] * (len(OPS[op].operands) - 1)]
    if OPS[op].family is Family.CONTRACTION:
        return [first, t(3, 4, dtype=dtype, place=place)]
    if OPS[op].family is Family.RANDOM:
        return [t(2, dtype=dtype, place=place)]
    if OPS[op].variadic:
        return [first] * 3
    where = t(dtype="I64", place=place)
    return [where if role in OPS[op].named else first for role in OPS[op].operands]


def refusal(op: str, types: list[TensorType], /, **attributes: Attribute) -> RuleError:
    with pytest.raises(RuleError) as caught:
        infer(op, types, attributes)
    assert caught.value.message.startswith(op.split("_keep", maxsplit=1)[0]), caught.value.message
    return caught.value


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

REDUCED = {0: (4, "V"), 1: ("B", "V"), 2: ("B", 4)}
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


def test_argmax_is_i64_whatever_comes_in() -> None:
    for dtype in NUMERIC:
        assert infer("reduce", [t(3, dtype=dtype)], {"op": "argmax", "axis": 0}).dtype is I64
    assert BOOL.name not in NUMERIC
    assert F32.name in NUMERIC
