"""Failures that users of other systems met, as programs that must be right here.

One module holds most of the programs: a library costs more to build than a function in it.
"""

from __future__ import annotations

import mmap
import threading
from itertools import product

import ml_dtypes
import numpy as np
import pytest

import kina
from helpers.inputs import all_codes
from helpers.refusals import refused
from kina.arrays import numpy_dtype
from kina.dtypes import DTYPES, F8E4M3, F8E5M2

INF, NAN = np.inf, np.nan
FLOATS = ("F32", "F16", "BF16", "F8E4M3", "F8E5M2")
ORDERED = (*FLOATS, "I64", "I32", "I16", "I8", "I4")


SOFTMAX = "\n".join(
    f"let {op}_{dtype} = fn(x: tensor<{dtype}, [N]>) -> tensor<{dtype}, [N]> {{ x.{op}(axis=0) }}"
    for op in ("softmax", "log_softmax")
    for dtype in FLOATS
)

EXTREMES = "\n".join(
    f"let {op}_{dtype} = fn(x: tensor<{dtype}, [B, N]>) -> tensor<{result}, [B]>"
    f" {{ x.reduce(op={op}, axis=1) }}"
    for dtype in ORDERED
    for op, result in (("argmax", "I64"), ("max", dtype), ("min", dtype))
)

CASTS = "\n".join(
    f"let cast_{source}_{target} = fn(x: tensor<{source}, [N]>) -> tensor<{target}, [N]>"
    f" {{ x.cast({target}) }}"
    for source, target in (("F32", "BF16"), ("F32", "F8E4M3"), ("F32", "F8E5M2"), ("F8E4M3", "F32"),
                           ("F8E5M2", "F32"), ("Bool", "I8"), ("Bool", "Bool"), ("I64", "BF16"))
)  # fmt: skip

OTHERS = """
let rows = fn(x: tensor<F32, [B, N]>) -> (tensor<F32, [B, N]>, tensor<F32, [B, N]>) {
  (x.log_softmax(axis=1), x.softmax(axis=1))
}
let nll = fn(x: tensor<F32, [B, N]>, t: tensor<I64, [B]>) -> tensor<F32, [B]> {
  -x.log_softmax(axis=1).take_along_axis(t, axis=1)
}
let interior = fn(x: tensor<F32, [1, 3, 2, 2]>) -> tensor<F32, [1, 3, 2, 2]> {
  x.log_softmax(axis=1)
}
let unit_axis = fn(x: tensor<F32, [1, 1023]>) -> (tensor<F32, [1, 1023]>, tensor<F32, [1, 1023]>) {
  (x.softmax(axis=0), x.log_softmax(axis=0))
}
let total = fn(x: tensor<F32, [N]>) -> tensor<F32, []> { x.reduce(op=sum, axis=0) }
let columns = fn(x: tensor<F32, [N, 2]>) -> tensor<F32, [2]> { x.reduce(op=sum, axis=0) }
let size_one = fn(x: tensor<F32, [40, 900, 1]>) -> tensor<I64, [40, 900]> {
  x.reduce(op=argmax, axis=2)
}
let of_negated = fn(x: tensor<F32, [N]>) -> tensor<I64, []> { (-x).reduce(op=argmax, axis=0) }
let sum_of = fn(x: tensor<F32, [N, D]>, y: tensor<F32, [N, D]>) -> tensor<F32, [N, D]> { x + y }
let rows_of = fn(w: tensor<F32, [5, 2]>, i: tensor<I64, [K]>) -> tensor<F32, [K, 2]> {
  w.gather(i)
}
let after_add = fn(x: tensor<F32, [1, 5]>, i: tensor<I64, [1]>) -> tensor<F32, [1]> {
  (x + 1.0).take_along_axis(i, axis=1)
}
let after_neg = fn(x: tensor<F32, [1, 5]>, i: tensor<I64, [1]>) -> tensor<F32, [1]> {
  (-x).take_along_axis(i, axis=1)
}
let after_broadcast = fn(x: tensor<F32, []>, i: tensor<I64, [1]>) -> tensor<F32, [1]> {
  x.broadcast([1, 5]).take_along_axis(i, axis=1)
}
let unused = fn(x: tensor<F32, [1, 3]>, i: tensor<I64, [1]>) -> tensor<F32, [1, 3]> {
  let dead = x.take_along_axis(i, axis=1) in
  x
}
let small_ids = fn(w: tensor<F32, [200, 1]>, i: tensor<I8, [K]>) -> tensor<F32, [K, 1]> {
  w.gather(i.cast(I64))
}
let nibble_ids = fn(w: tensor<F32, [200, 1]>, i: tensor<I4, [K]>) -> tensor<F32, [K, 1]> {
  w.gather(i.cast(I64))
}
let sample = fn(logits: tensor<F32, [B, V]>, u: tensor<F32, [B, V]>, t: tensor<F32, [1, 1]>)
    -> tensor<I64, [B]> {
  (logits / t.broadcast([B, V]) + -log(-log(u))).reduce(op=argmax, axis=1)
}
let noise_f16 = fn(u: tensor<F16, [N]>) -> tensor<F16, [N]> { (-log(-log(u.cast(F32)))).cast(F16) }
let noise_bf16 = fn(u: tensor<BF16, [N]>) -> tensor<BF16, [N]> {
  (-log(-log(u.cast(F32)))).cast(BF16)
}
let sample_f16 = fn(logits: tensor<F16, [1, 4]>, u: tensor<F16, [1, 4]>) -> tensor<I64, [1]> {
  (logits + -log(-log(u))).reduce(op=argmax, axis=1)
}
let sample_bf16 = fn(logits: tensor<BF16, [1, 4]>, u: tensor<BF16, [1, 4]>) -> tensor<I64, [1]> {
  (logits + -log(-log(u))).reduce(op=argmax, axis=1)
}
let scaled_f16 = fn(x: tensor<F16, [1, 2]>, t: tensor<F16, [1, 1]>) -> tensor<I64, [1]> {
  (x / t.broadcast([1, 2])).reduce(op=argmax, axis=1)
}
let negated = fn(x: tensor<F32, [3, 4]>) -> tensor<F32, [3, 4]> { -x }
let same_twice = fn(x: tensor<F32, [3, 4]>, y: tensor<F32, [3, 4]>)
    -> (tensor<F32, [3, 4]>, tensor<F32, [3, 4]>, tensor<F32, [3, 4]>) {
  (x, x + y, x)
}
let doubled = fn(x: tensor<F32, [2, 3]>) -> tensor<F32, [2, 3]> { x + x }
let of_view = fn(x: tensor<F32, [R, 3]>) -> tensor<F32, [R, 3]> { x + x }
let negated_scalar = fn(x: tensor<F32, []>) -> tensor<F32, []> { -x }
let long_row = fn(x: tensor<F32, [1, 4000000]>) -> tensor<F32, [1, 4000000]> {
  x.log_softmax(axis=1)
}
let four = fn(x: tensor<F32, [4]>, i: tensor<I32, [4]>) -> tensor<F32, [4]> {
  x + i.cast(F32)
}
let any_rows = fn(x: tensor<F32, [N, D]>) -> tensor<F32, [N, D]> { x }
"""


@pytest.fixture(scope="module")
def module() -> kina.Module:
    return kina.compile("\n".join([SOFTMAX, EXTREMES, CASTS, OTHERS]), name="cases.kina")


def f32(*values: object) -> np.ndarray:
    return np.array(values, np.float32)


def as_dtype(values: object, name: str) -> np.ndarray:
    return np.array(values, np.float64).astype(np.float32).astype(numpy_dtype(DTYPES[name]))


# Softmax and its logarithm


def test_large_logits_do_not_underflow(module: kina.Module) -> None:
    got = module.log_softmax_F32(f32(-800, -1000, 900, -1200))
    assert got.tolist() == [-1700, -1900, 0, -2100]


def test_the_loss_of_equal_huge_logits_keeps_its_logarithm(module: kina.Module) -> None:
    got = module.nll(f32([1e8, 1e8]), np.array([1]))
    np.testing.assert_array_max_ulp(got, f32(0.693147181), 2)
    got = module.nll(np.full((1, 11), -1e10, np.float32), np.array([4]))
    np.testing.assert_array_max_ulp(got, f32(2.397895273), 2)


def test_infinities_and_nan_in_a_row(module: kina.Module) -> None:
    x = f32([0, -INF, 1], [-INF, -INF, -INF], [0, INF, 1], [NAN, INF, -INF])
    logarithm, probability = module.rows(x)
    np.testing.assert_allclose(logarithm[0], [-1.313261688, -INF, -0.313261688], rtol=2e-6)
    np.testing.assert_allclose(probability[0], [0.268941421, 0, 0.731058579], rtol=1e-6)
    assert np.isnan(logarithm[1:]).all()
    assert np.isnan(probability[1:]).all()


@pytest.mark.parametrize("size", [512, 70000])
def test_uniform_rows_do_not_stick_in_small_floats(module: kina.Module, size: int) -> None:
    """A sum kept in BF16 stops at 256; ours is F32 and rounds once."""
    for dtype in ("BF16", "F16"):
        row = np.zeros(size, numpy_dtype(DTYPES[dtype]))
        wanted = as_dtype(-np.log(float(size)), dtype)
        assert (module[f"log_softmax_{dtype}"](row) == wanted).all()
        assert (module[f"softmax_{dtype}"](row) == as_dtype(1 / size, dtype)).all()


def test_the_logarithm_of_512_equal_lanes_by_value(module: kina.Module) -> None:
    assert float(module.log_softmax_BF16(np.zeros(512, ml_dtypes.bfloat16))[0]) == -6.25
    assert float(module.log_softmax_F16(np.zeros(512, np.float16))[0]) == -6.23828125
    assert float(module.softmax_F16(np.zeros(512, np.float16))[0]) == 0.001953125


def test_an_interior_axis_is_normalised_alone(module: kina.Module) -> None:
    x = np.arange(12, dtype=np.float32).reshape(1, 3, 2, 2)
    got = module.interior(x)
    np.testing.assert_allclose(
        got[0, :, 0, 0], [-8.018479303, -4.018479303, -0.018479303], rtol=1e-6, atol=1e-6
    )
    np.testing.assert_allclose(np.exp(got.astype(np.float64)).sum(1), 1, rtol=1e-6)


def test_an_axis_of_size_one_is_not_its_neighbour(module: kina.Module) -> None:
    probability, logarithm = module.unit_axis(np.arange(1023, dtype=np.float32)[None] * 0.5)
    assert (probability == 1).all()
    assert (logarithm == 0).all()


@pytest.mark.ordered
def test_a_long_sum_does_not_drift(module: kina.Module) -> None:
    got = module.total(np.full(62500, 1.23456, np.float32))
    np.testing.assert_allclose(got, 77160.00080108643, rtol=2e-6)


@pytest.mark.ordered
def test_a_long_first_axis_does_not_stop_at_2_to_the_24(module: kina.Module) -> None:
    assert module.columns(np.ones((20_000_000, 2), np.float32)).tolist() == [2e7, 2e7]


def test_a_long_static_row_needs_no_stack(module: kina.Module) -> None:
    results: list[np.ndarray] = []
    x = np.zeros((1, 4_000_000), np.float32)
    threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=lambda: results.append(module.long_row(x)))
        thread.start()
    finally:
        threading.stack_size(0)
    thread.join()
    np.testing.assert_allclose(results[0], -15.201804919, rtol=1e-6)


# argmax, max, min


def test_argmax_over_size_one_is_zero_everywhere(module: kina.Module) -> None:
    assert not module.size_one(np.zeros((40, 900, 1), np.float32)).any()


@pytest.mark.parametrize("dtype", ORDERED)
def test_all_negative_rows(module: kina.Module, dtype: str) -> None:
    x = as_dtype([[-3, -1, -7]], dtype)
    assert module[f"argmax_{dtype}"](x).tolist() == [1]
    assert float(module[f"max_{dtype}"](x)[0]) == -1
    assert float(module[f"min_{dtype}"](x)[0]) == -7


@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16", "F8E5M2"])
def test_rows_of_minus_infinity(module: kina.Module, dtype: str) -> None:
    x = as_dtype([[-INF] * 5, [-INF] * 4 + [-5]], dtype)
    assert module[f"argmax_{dtype}"](x).tolist() == [0, 4]
    assert module[f"max_{dtype}"](x).astype(np.float32).tolist() == [-INF, -5]


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_lanes_never_win_an_argmax(module: kina.Module, dtype: str) -> None:
    """The rule of the language, not NumPy's: a NaN lane counts as the start value."""
    argmax, maximum = module[f"argmax_{dtype}"], module[f"max_{dtype}"]
    for row, index in (([3, NAN, 1, 5], 3), ([NAN] * 3, 0), ([1, 2, NAN], 1), ([0, NAN, NAN], 0)):
        assert argmax(as_dtype([row], dtype)).tolist() == [index]
        assert np.isnan(maximum(as_dtype([row], dtype)).astype(np.float32)).all()


@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16"])
def test_one_nan_at_every_place_of_every_width(module: kina.Module, dtype: str) -> None:
    for size in range(1, 41):
        rows = np.tile(np.arange(size, dtype=np.float32), (size, 1))
        np.fill_diagonal(rows, NAN)
        x = as_dtype(rows, dtype)
        wanted = [max(size - 2, 0) if place == size - 1 else size - 1 for place in range(size)]
        assert module[f"argmax_{dtype}"](x).tolist() == wanted
        for op in ("max", "min"):
            assert np.isnan(module[f"{op}_{dtype}"](x).astype(np.float32)).all()


@pytest.mark.parametrize("op", ["max", "min"])
def test_nan_in_a_literal_is_folded_as_it_is_computed(op: str) -> None:
    program = kina.compile(
        f"let folded = fn() -> tensor<F32, []> {{"
        f" tensor<F32, [5]>(0, 1, nan, 3, 4).reduce(op={op}, axis=0) }}"
        f"let plain = fn() -> tensor<F32, []> {{"
        f" tensor<F32, [5]>(2, 1, 0.5, 3, 4).reduce(op={op}, axis=0) }}"
    )
    assert np.isnan(program.folded())
    assert float(program.plain()) == {"max": 4.0, "min": 0.5}[op]


@pytest.mark.parametrize("dtype", ["F32", "F16", "BF16", "I8", "I32"])
def test_the_lowest_of_equal_maxima_wins(module: kina.Module, dtype: str) -> None:
    x = np.zeros((3, 37), np.float32)
    x[0], x[1, [8, 16, 36]], x[2, [35, 36]] = 5, 9, 9
    assert module[f"argmax_{dtype}"](as_dtype(x, dtype)).tolist() == [0, 8, 35]


@pytest.mark.parametrize("dtype", ["F32", "I32"])
def test_many_ties_do_not_add_up(module: kina.Module, dtype: str) -> None:
    assert module[f"argmax_{dtype}"](as_dtype([[7, 1, 7, 0, 7]], dtype)).tolist() == [0]
    assert module.of_negated(f32(-3, -3)).tolist() == 0


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("width", [1, 2, 3, 5, 17, 64, 70])
def test_minus_zero_is_below_plus_zero(module: kina.Module, dtype: str, width: int) -> None:
    """Upstream's expansion of maximumf compares, and for a comparison the two are equal."""
    rows = np.random.default_rng(width).choice([-0.0, 0.0], (70, width), p=[0.8, 0.2])
    plus = ~np.signbit(rows)
    for op, positive in (("max", plus.any(1)), ("min", plus.all(1))):
        got = module[f"{op}_{dtype}"](as_dtype(rows, dtype)).astype(np.float32)
        np.testing.assert_array_equal(np.signbit(got), ~positive)
    assert not module[f"argmax_{dtype}"](as_dtype(rows, dtype)).any()


def test_f8e4m3_has_no_infinity_to_start_from(module: kina.Module) -> None:
    x = as_dtype([[-448, -240, -416]], "F8E4M3")
    assert float(module.max_F8E4M3(x)[0]) == -240
    assert module.argmax_F8E4M3(x).tolist() == [1]
    # A fiber whose maximum is not above the start value, -448, gives 0.
    assert module.argmax_F8E4M3(as_dtype([[NAN, -448]], "F8E4M3")).tolist() == [0]


# Symbols, indices, arguments


@pytest.mark.parametrize("shape", [(4, 1), (4, 5), (3, 6)])
def test_a_symbol_has_one_size(module: kina.Module, shape: tuple[int, int]) -> None:
    with pytest.raises(kina.KinaValueError) as caught:
        module.sum_of(np.ones((4, 6), np.float32), np.ones(shape, np.float32))
    wrong = next(axis for axis in (0, 1) if shape[axis] != (4, 6)[axis])
    words = str(caught.value)
    for word in (("N", "D")[wrong], "x", "y", str((4, 6)[wrong]), str(shape[wrong])):
        assert word in words, words


def test_size_one_is_a_size_like_another(module: kina.Module) -> None:
    one = np.ones((1, 1), np.float32)
    assert module.sum_of(one, one).tolist() == [[2]]


@pytest.mark.parametrize("indices", [[2, -1, 4], [5], [-6], [2**63 - 1], [-(2**63)], [2**32 + 1]])
def test_bad_rows_are_refused_and_never_wrap(module: kina.Module, indices: list[int]) -> None:
    table = np.arange(10, 110, 10, np.float32).reshape(5, 2)
    first = next(position for position, index in enumerate(indices) if not 0 <= index < 5)
    words = rf"gather: index {indices[first]} at \[{first}\] of indices is outside 0 .. 4"
    with pytest.raises(kina.KinaIndexError, match=words):
        module.rows_of(table, np.array(indices))
    assert module.rows_of(table, np.array([2, 0, 4])).tolist() == [[50, 60], [10, 20], [90, 100]]


@pytest.mark.parametrize(
    ("name", "shape"), [("after_add", (1, 5)), ("after_neg", (1, 5)), ("after_broadcast", ())]
)
def test_the_check_does_not_depend_on_the_producer(
    module: kina.Module, name: str, shape: tuple[int, ...]
) -> None:
    with pytest.raises(kina.KinaIndexError, match="index -50000000000000000 "):
        module[name](np.zeros(shape, np.float32), np.array([-50000000000000000]))


def test_the_check_of_an_unused_result_stays(module: kina.Module) -> None:
    x = np.zeros((1, 3), np.float32)
    with pytest.raises(kina.KinaIndexError) as caught:
        module.unused(x, np.array([3]))
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.span is not None
    assert diagnostic.span.file == "cases.kina"
    assert "x.take_along_axis(i, axis=1)" in diagnostic.span.line_text
    assert diagnostic.message == (
        "take_along_axis: index 3 at [0] of indices is outside 0 .. 2 (axis 1 of values [1, 3])"
    )
    np.testing.assert_array_equal(module.unused(x, np.array([2])), x)


def test_ids_keep_their_sign_and_width(module: kina.Module) -> None:
    table = np.arange(200, dtype=np.float32)[:, None]
    with pytest.raises(kina.KinaTypeError, match="I8"):
        module.small_ids(table, np.array([199], np.uint8))
    assert module.small_ids(table, np.array([127], np.int8)).tolist() == [[127]]
    with pytest.raises(kina.KinaIndexError, match="index -1 "):
        module.small_ids(table, np.array([-1], np.int8))
    assert module.nibble_ids(table, np.array([7], ml_dtypes.int4)).tolist() == [[7]]
    with pytest.raises(kina.KinaIndexError, match="index -1 "):
        module.nibble_ids(table, np.array([-1], ml_dtypes.int4))
    # Indices of another dtype need the cast: the type rule takes I64 alone.
    refused(
        "let f = fn(w: tensor<F32, [200, 1]>, i: tensor<I8, [1]>) -> tensor<F32, [1, 1]> {"
        " w.gather(i) }",
        "indices have dtype I8, expected I64",
    )


def test_inputs_are_never_written(module: kina.Module) -> None:
    """Inputs in memory that cannot be written, and one array for both parameters."""
    data = np.arange(12, dtype=np.float32)
    with mmap.mmap(-1, data.nbytes) as anonymous:
        anonymous.write(data.tobytes())
        copy = np.frombuffer(bytes(anonymous[: data.nbytes]), np.float32).reshape(3, 4)
    assert not copy.flags.writeable
    np.testing.assert_array_equal(module.negated(copy), -copy)
    first, total, again = module.same_twice(copy, copy)
    np.testing.assert_array_equal(total, copy + copy)
    np.testing.assert_array_equal(first, copy)
    assert not np.shares_memory(first, copy)
    assert not np.shares_memory(first, again)
    np.testing.assert_array_equal(copy.reshape(-1), data)


@pytest.mark.parametrize(
    "x",
    [
        np.asfortranarray(np.arange(6, dtype=np.float32).reshape(2, 3)),
        np.arange(6, dtype=np.float32).reshape(3, 2).T,
        np.arange(12, dtype=np.float32)[::2].reshape(2, 3),
        np.arange(12, dtype=np.float32)[::-2].reshape(2, 3),
        np.broadcast_to(np.float32(3), (2, 3)),
    ],
)
def test_every_memory_order_is_read_as_numpy_reads_it(module: kina.Module, x: np.ndarray) -> None:
    np.testing.assert_array_equal(module.doubled(x), x + x)


def test_views_keep_their_offset(module: kina.Module) -> None:
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    for view in (x[1:, 1:4], x[:, 2:], x[::-1, :3], x[2:3, 1:4]):
        np.testing.assert_array_equal(module.of_view(view), view + view)


def test_rank_zero_in_and_out(module: kina.Module) -> None:
    got = module.negated_scalar(np.array(3.5, np.float32))
    assert isinstance(got, np.ndarray)
    assert (got.shape, got.tolist()) == ((), -3.5)
    assert module.total(np.ones(4, np.float32)).tolist() == 4.0


@pytest.mark.parametrize(
    ("x", "i", "error", "words"),
    [
        (np.zeros(4), np.zeros(4, np.int32), kina.KinaTypeError, ("x", "F32", "float64")),
        (np.zeros(4, np.float32), np.zeros(4, np.int64), kina.KinaTypeError, ("i", "I32", "int64")),
        (np.zeros(5, np.float32), np.zeros(4, np.int32), kina.KinaValueError, ("x", "[4]", "[5]")),
        (np.zeros((4, 1), np.float32), np.zeros(4, np.int32), kina.KinaValueError, ("x", "[4]")),
    ],
)
def test_wrong_arguments_are_named(
    module: kina.Module, x: np.ndarray, i: np.ndarray, error: type, words: tuple[str, ...]
) -> None:
    with pytest.raises(error) as caught:
        module.four(x, i)
    for word in words:
        assert word in str(caught.value)


def test_a_byte_swapped_array_is_never_read_wrongly(module: kina.Module) -> None:
    with pytest.raises(kina.KinaTypeError, match="x"):
        module.four(np.arange(4).astype(">f4"), np.zeros(4, np.int32))


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0)])
def test_empty_arrays_have_empty_results(module: kina.Module, shape: tuple[int, int]) -> None:
    assert module.any_rows(np.empty(shape, np.float32)).shape == shape


def test_empty_static_dimensions_are_no_type() -> None:
    refused("let f = fn(x: tensor<F32, [0, 4]>) -> tensor<F32, [0, 4]> { x }", "0")


# Casts and storage


def test_rounding_to_bf16(module: kina.Module) -> None:
    bits = np.array([0x7F800001], np.uint32).view(np.float32)
    x = f32(1.00390625, 1.01171875, 3.4028234663852886e38, 3.3895313892515355e38, INF, 0, 1e-40)
    x[5] = bits[0]
    got = module.cast_F32_BF16(x).view(np.uint16)
    assert got[[0, 1, 2, 3, 4, 6]].tolist() == [0x3F80, 0x3F82, 0x7F80, 0x7F7F, 0x7F80, 0x0001]
    assert np.isnan(got.view(ml_dtypes.bfloat16)[5].astype(np.float32))


def test_integers_round_to_bf16_once(module: kina.Module) -> None:
    """2^40 + 2^32 lies between two BF16 values; the 1 must survive to break the tie."""
    got = module.cast_I64_BF16(np.array([2**40 + 2**32, 2**40 + 2**32 + 1, -(2**40) - 2**32 - 1]))
    assert got.astype(np.float64).tolist() == [2.0**40, 2.0**40 + 2**33, -(2.0**40) - 2**33]


def test_rounding_to_8_bit_floats(module: kina.Module) -> None:
    x = f32(240, 248, 448, 464, 465, INF, 0.0009765625, 61440)
    got = module.cast_F32_F8E4M3(x).astype(np.float32)
    np.testing.assert_array_equal(got, f32(240, 256, 448, 448, NAN, NAN, 0, NAN))
    got = module.cast_F32_F8E5M2(x).astype(np.float32)
    np.testing.assert_array_equal(got, f32(256, 256, 448, 448, 448, INF, 0.0009765625, INF))


@pytest.mark.parametrize("dtype", [F8E4M3, F8E5M2], ids=str)
def test_all_codes_of_8_bit_floats_decode(module: kina.Module, dtype: object) -> None:
    codes = all_codes(dtype)
    with np.errstate(invalid="ignore"):
        wanted = codes.astype(np.float32)
    np.testing.assert_array_equal(module[f"cast_{dtype}_F32"](codes), wanted)


def test_any_non_zero_byte_is_true(module: kina.Module) -> None:
    x = np.array([0, 2, 255, 1, 0, 2, 0, 1, 1, 0, 128], np.uint8).view(bool)
    wanted = [0, 1, 1, 1, 0, 1, 0, 1, 1, 0, 1]
    assert module.cast_Bool_I8(x).tolist() == wanted
    assert module.cast_Bool_Bool(x).view(np.uint8).tolist() == wanted
    assert module.cast_Bool_I8.reference(x).tolist() == wanted
    assert module.cast_Bool_Bool.reference(x).view(np.uint8).tolist() == wanted


# Sampling


def test_a_masked_lane_with_certain_noise_does_not_win(module: kina.Module) -> None:
    """-inf + inf is NaN, and a NaN lane never wins an argmax."""
    one = np.ones((1, 1), np.float32)
    got = module.sample(f32([-INF, 0, -INF]), f32([1, 0.5, 1]), one)
    assert got.tolist() == [1]


def test_every_extreme_draw_gives_a_token_in_range(module: kina.Module) -> None:
    draws = np.array(list(product([0, 2**-24, 0.5, 1 - 2**-24, 1], repeat=3)), np.float32)
    one = np.ones((1, 1), np.float32)
    for logits in ([-INF, 0, -INF], [5, 0, 0], [-INF] * 3, [INF, NAN, 0]):
        rows = np.tile(f32(*logits), (len(draws), 1))
        got = module.sample(rows, draws, one)
        assert ((got >= 0) & (got < 3)).all()
        if np.isneginf(logits).sum() == 2:
            # The one finite lane wins wherever its own draw is inside (0, 1).
            assert (got[(draws[:, 1] > 0) & (draws[:, 1] < 1)] == 1).all()


def test_draws_of_zero(module: kina.Module) -> None:
    logits = f32([5, 0, 0], [5, 0, 0])
    got = module.sample(logits, f32([0, 0.5, 0.25], [0, 0, 0]), np.ones((1, 1), np.float32))
    assert got.tolist() == [1, 0]


@pytest.mark.parametrize("dtype", ["F16", "BF16"])
def test_noise_of_small_floats_is_formed_in_f32(module: kina.Module, dtype: str) -> None:
    """The largest draw below 1 gives the largest noise, and it is finite."""
    below_one = np.array([0x3BFF if dtype == "F16" else 0x3F7F], np.uint16)
    u = below_one.view(numpy_dtype(DTYPES[dtype]))
    got = module[f"noise_{dtype.lower()}"](u)
    wanted = as_dtype(-np.log(-np.log(float(u[0]))), dtype)
    assert got[0] == wanted
    np.testing.assert_allclose(float(wanted), {"F16": 7.624375, "BF16": 5.543221}[dtype], rtol=4e-3)


@pytest.mark.parametrize("dtype", ["F16", "BF16"])
@pytest.mark.parametrize("draw", [0.9999, 1e-8, 1.0, 0.0])
def test_equal_draws_that_round_to_0_or_1_choose_the_best(
    module: kina.Module, dtype: str, draw: float
) -> None:
    """0.9999 is 1 in BF16 and 1e-8 is 0 in F16: the noise is infinite and the tie rule decides."""
    logits = as_dtype([[0, -INF, -INF, -30]], dtype)
    u = as_dtype([[draw] * 4], dtype)
    assert module[f"sample_{dtype.lower()}"](logits, u).tolist() == [0]


def test_temperature_zero_stays_in_range(module: kina.Module) -> None:
    """Unspecified by the seed; here both scores are +inf and the lowest index wins the tie."""
    half = np.full((1, 2), 0.5, np.float32)
    for temperature in (0.0, 1e-4, -1.0, NAN):
        got = module.sample(f32([1, 2]), half, np.full((1, 1), temperature, np.float32))
        assert got.tolist() in ([0], [1])
    assert module.sample(f32([1, 2]), half, np.full((1, 1), 1e-4, np.float32)).tolist() == [1]


def test_a_quotient_that_overflows_f16_ties(module: kina.Module) -> None:
    x = np.array([[100, 99]], np.float16)
    assert module.scaled_f16(x, np.full((1, 1), 1e-4, np.float16)).tolist() == [0]


# Diagnostics


def test_every_error_names_its_own_line() -> None:
    text = (
        "let f = fn(x: tensor<F32, [2, 3]>, y: tensor<F32, [3, 2]>) -> tensor<F32, [2, 3]> {\n"
        "  let a = x.log_softmax(axis=5) in\n"
        "  let b = x + y in\n"
        "  b\n"
        "}\n"
    )
    with pytest.raises(kina.KinaTypeError) as caught:
        kina.compile(text, name="three.kina")
    places = [str(diagnostic.span) for diagnostic in caught.value.diagnostics]
    assert places == ["three.kina:2:30", "three.kina:3:15"]
