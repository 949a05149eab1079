"""Arguments of calls: memory orders, dtypes, symbols, ranks, and what is refused."""

from __future__ import annotations

import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kina


@pytest.mark.parametrize(
    ("args", "named", "message"),
    [
        ((1,), {}, "nll: takes 2 arguments, missing: 'targets'"),
        ((), {}, "nll: takes 2 arguments, missing: 'logits', 'targets'"),
        ((1, 2, 3), {}, "nll: takes 2 arguments, got 3"),
        ((1,), {"target": 1}, "nll: has no parameter 'target'"),
        ((1,), {"logits": 1}, "nll: got 'logits' twice"),
    ],
)
def test_wrong_arguments(module: Any, args: Any, named: Any, message: str) -> None:
    with pytest.raises(kina.KinaTypeError, match=re.escape(message)) as caught:
        module.nll(*args, **named)
    assert isinstance(caught.value, TypeError)
    assert "its type is nll(logits: tensor<F32, [1, 4, 8]>" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        ("total", np.zeros(4), kina.KinaTypeError, "expected dtype float32 (F32), got float64"),
        ("total", np.zeros(4, ">f4"), kina.KinaTypeError, "got >f4 (the other byte order)"),
        ("total", np.zeros(4, np.int32), kina.KinaTypeError, "got int32"),
        ("total", np.zeros(5, np.float32), kina.KinaValueError, "expected shape [4], got [5]"),
        ("total", np.zeros(0, np.float32), kina.KinaValueError, "expected shape [4], got [0]"),
        ("total", np.zeros((4, 1), np.float32), kina.KinaValueError, "got [4, 1]"),
        ("total", [1.0, 2.0, 3.0, 4.0], kina.KinaTypeError, "expected an array, got list"),
        ("scalar", 3.5, kina.KinaTypeError, "expected an array, got float"),
        ("total", np.ma.masked_array(np.zeros(4, np.float32)), kina.KinaTypeError, "masked"),
        ("total", None, kina.KinaTypeError, "got NoneType"),
        # An unsigned 200 read as I8 would be -56.
        ("bytes", np.array([200, 1, 2], np.uint8), kina.KinaTypeError, "got uint8"),
        ("bytes", np.zeros(3, bool), kina.KinaTypeError, "got bool"),
        ("flag", np.zeros(11, np.int8), kina.KinaTypeError, "expected dtype bool (Bool)"),
    ],
)
def test_wrong_array(module: Any, name: str, value: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=re.escape(message)) as caught:
        module[name](value)
    assert f"{name}: parameter 'x'" in str(caught.value)


@pytest.mark.parametrize("shape", [(4, 1), (4, 5)])
def test_symbol_disagrees(module: Any, shape: tuple[int, int]) -> None:
    x, y = np.ones((4, 6), np.float32), np.ones(shape, np.float32)
    wanted = f"dimension 'D' is 6 in parameter 'x' and {shape[1]} in parameter 'y'"
    with pytest.raises(kina.KinaValueError, match=wanted):
        module.add(x, y)


def test_symbol_disagrees_in_the_first_dimension(module: Any) -> None:
    with pytest.raises(
        kina.KinaValueError, match="'N' is 4 in parameter 'x' and 3 in parameter 'y'"
    ):
        module.add(np.ones((4, 6), np.float32), np.ones((3, 6), np.float32))


def test_symbols_of_size_one(module: Any) -> None:
    one = np.ones((1, 1), np.float32)
    np.testing.assert_array_equal(module.add(one, one), [[2]])


@pytest.mark.parametrize("shape", [(0, 4), (4, 0)])
def test_symbol_zero(module: Any, shape: tuple[int, int]) -> None:
    """An empty array gives an empty one, also where a column of 2^47 elements would be empty."""
    x = np.empty(shape, np.float32)
    assert module.add(x, x).shape == shape
    assert module.add(x, x, out=x.copy()).shape == shape
    huge = np.empty((shape[0] and 1 << 48, shape[1] and 1 << 48), np.float32)
    with pytest.raises(MemoryError, match=r"no memory holds an array of shape"):
        module.add(huge, huge)


def layouts() -> dict[str, np.ndarray]:
    """[2, 3] arrays that are not plain C order."""
    plain = np.arange(6, dtype=np.float32).reshape(2, 3)
    misaligned = np.zeros(25, np.uint8)[1:].view(np.float32).reshape(2, 3)
    misaligned[...] = plain
    read_only = plain.copy()
    read_only.flags.writeable = False
    return {
        "fortran": np.asfortranarray(plain),
        "transposed": np.arange(6, dtype=np.float32).reshape(3, 2).T,
        "strided": np.arange(12, dtype=np.float32)[::2].reshape(2, 3),
        "sliced": np.arange(24, dtype=np.float32).reshape(4, 6)[::2, ::2],
        "reversed": plain[::-1, ::-1],
        "broadcast": np.broadcast_to(np.float32(3), (2, 3)),
        "misaligned": misaligned,
        "read-only": read_only,
        "subclass": plain.view(np.matrix) if hasattr(np, "matrix") else plain,
    }


@pytest.mark.parametrize("name", list(layouts()))
def test_layouts(module: Any, name: str) -> None:
    x = layouts()[name]
    result = module.add(x, x)
    np.testing.assert_array_equal(result, np.asarray(x) * 2)
    assert type(result) is np.ndarray


def test_equal_dtypes_that_are_not_identical(module: Any) -> None:
    """long and long long are one I64; a dtype with metadata is what it is."""
    odd = np.dtype(np.float32, metadata={"unit": "nat"})
    np.testing.assert_array_equal(module.total(np.ones(4, odd)), 4)
    x = np.zeros((2, 3), np.float32)
    loss, _ = module.both(x, np.zeros(2, np.longlong))
    np.testing.assert_allclose(loss, np.log(3), rtol=1e-6)


def test_rank_zero(module: Any) -> None:
    for value in (np.array(3.5, np.float32), np.float32(3.5)):
        result = module.scalar(value)
        assert isinstance(result, np.ndarray)
        assert result.shape == ()
        assert result == -3.5
    assert module.total(np.ones(4, np.float32)) == 4


def test_bool_bytes_other_than_one(module: Any) -> None:
    raw = np.array([0, 2, 255, 1, 0, 2, 0, 1, 1, 0, 128], np.uint8)
    result = module.flag(raw.view(bool))
    np.testing.assert_array_equal(result.view(np.uint8), (raw != 0).astype(np.uint8))


def test_i4_bytes_with_stray_bits() -> None:
    function = kina.compile("let f = fn(x: tensor<I4, [4]>) -> tensor<I4, [4]> { x }").f
    raw = np.array([0x01, 0xFF, 0x1F, 0x72], np.uint8)
    result = function(raw.view(ml_dtypes.int4))
    np.testing.assert_array_equal(result.view(np.int8), [1, -1, -1, 2])


@pytest.mark.parametrize("raw", [0x00, 0x05, 0x0D, 0xFD, 0x7D])
def test_i4_of_rank_zero(raw: int) -> None:
    """A negative one has no sign bits in NumPy's byte, and the cleaned copy is an array."""
    text = "let f = fn(x: tensor<I4, []>, y: tensor<I4, []>) -> tensor<I4, []> { x + y }"
    function = kina.compile(text).f
    x = np.array(raw, np.uint8).view(ml_dtypes.int4)
    value = (raw & 15) - (raw & 8) * 2
    for given in (x, x[()]):
        assert int(function(given, np.zeros((), ml_dtypes.int4))) == value
        out = np.empty((), ml_dtypes.int4)
        assert function(given, x, out=out) is out
        assert int(out) == (2 * value + 8) % 16 - 8


def test_bool_of_rank_zero_with_stray_bits() -> None:
    function = kina.compile("let f = fn(x: tensor<Bool, []>) -> tensor<Bool, []> { x }").f
    for raw in (0, 1, 2, 255):
        result = function(np.array(raw, np.uint8).view(bool))
        assert result.view(np.uint8) == (raw != 0)


def test_small_dtypes_reach_the_kernel() -> None:
    """Arrays of ml_dtypes pass in and out; they do not offer the buffer protocol."""
    text = "let f = fn(x: tensor<{0}, [3]>) -> tensor<{0}, [3]> {{ x }}"
    for name, dtype in (
        ("BF16", ml_dtypes.bfloat16),
        ("F8E4M3", ml_dtypes.float8_e4m3fn),
        ("F8E5M2", ml_dtypes.float8_e5m2),
        ("I4", ml_dtypes.int4),
        ("F16", np.float16),
    ):
        x = np.array([1, -2, 3], dtype)
        result = kina.compile(text.format(name)).f(x)
        assert result.dtype == x.dtype
        np.testing.assert_array_equal(result.astype(np.float32), [1, -2, 3])


def test_a_result_too_big_for_numpy() -> None:
    dims = "[A, B, C]"
    vectors = ", ".join(f"{n.lower()}: tensor<F32, [{n}]>" for n in "ABC")
    ones = f"tensor<F32, [1, 1, 1]>(1).broadcast({dims})"
    huge = kina.compile(f"let f = fn({vectors}) -> tensor<F32, {dims}> {{ {ones} }}")["f"]
    assert huge(*(np.ones(n, np.float32) for n in (1, 2, 3))).shape == (1, 2, 3)
    x = np.ones(2**22, np.float32)
    with pytest.raises(MemoryError, match=r"f: no memory holds an array of shape \[4194304, "):
        huge(x, x, x)
    with pytest.raises(MemoryError, match="f: reference: "):
        huge.reference(x, x, x)


SIZES = """
let plus = fn(x: tensor<I64, [1]>, n: size) -> tensor<I64, [1]> { x + n * n }
let root = fn(x: tensor<F32, [1]>, n: size) -> tensor<F32, [1]> { x / sqrt(n * n) }
let start = fn(x: tensor<F32, [1]>, n: size) -> tensor<F32, [1]> {
  x.slice(axis=0, start=n * n, size=1)
}
let many = fn(x: tensor<F32, [1]>, n: size) -> tensor<F32, [n * n]> { x.broadcast([n * n]) }
let count = fn(x: tensor<I64, [1]>, n: size) -> tensor<I64, []> {
  iota([n], axis=0).reduce(op=sum, axis=0)
}
let cube = fn(x: tensor<I64, [1]>, n: size) -> tensor<I64, []> {
  x.reshape([1, 1]).broadcast([n, n]).reduce(op=sum, axis=0).reduce(op=sum, axis=0)
}
"""


def test_sizes_past_all_memory() -> None:
    """A computed size past 2^60, or more elements: no memory, for a call and for the reference."""
    module = kina.compile(SIZES, threads=False)
    for name in module:
        function = module[name]
        x = np.ones(1, np.int64 if "I64" in str(function.type.parameters[0].type) else np.float32)
        for call in (function, function.reference):
            with pytest.raises(MemoryError, match=f"^{name}: "):
                call(x, 2**61)
    assert module.plus.reference(np.ones(1, np.int64), 2**29) == 2**58 + 1
    assert module.plus(np.ones(1, np.int64), 2**29) == 2**58 + 1


def chain(count: int) -> str:
    """A function of `count` parameters: the sum of ten, and the first and the last doubled."""
    one = "tensor<F32, [N]>"
    parameters = ", ".join(f"p{i}: {one}" for i in range(count))
    total = " + ".join(f"p{i}" for i in range(10))
    results = f"({total}, p0 + p0, p{count - 1} + p{count - 1})"
    return f"let f = fn({parameters}) -> ({one}, {one}, {one}) {{ {results} }}"


@pytest.mark.parametrize("count", [397, 398])
def test_many_parameters(count: int) -> None:
    """As a training step has, with three moments for each of hundreds of tensors."""
    f = kina.compile(chain(count), fast=False)["f"]
    arrays = [np.full(2, i, np.float32) for i in range(count)]
    wanted = [45, 0, 2 * (count - 1)]
    for result, value in zip(f(*arrays), wanted, strict=True):
        np.testing.assert_array_equal(result, [value, value])
    named = {f"p{i}": arrays[i] for i in range(1, count)}
    outs = tuple(np.empty(2, np.float32) for _ in wanted)
    assert f(arrays[0], out=outs, **named) == outs
    np.testing.assert_array_equal(np.array(outs)[:, 0], np.array(wanted, np.float32))
    with pytest.raises(kina.KinaValueError, match=rf"out\[1\] overlaps parameter 'p{count - 1}'"):
        f(*arrays, out=(None, arrays[-1], None))
    with pytest.raises(
        kina.KinaTypeError, match=f"takes {count} arguments, missing: 'p{count - 1}'"
    ):
        f(*arrays[:-1])


def test_thousands_of_parameters() -> None:
    count, one = 3000, "tensor<F32, [N]>"
    parameters = ", ".join(f"p{i}: {one}" for i in range(count))
    body = "{ (p0 + p2999, p1500 - p2998) }"
    f = kina.compile(f"let f = fn({parameters}) -> ({one}, {one}) {body}", fast=False)["f"]
    arrays = [np.full(2, i, np.float32) for i in range(count)]
    wanted = [[2999, 2999], [-1498, -1498]]
    np.testing.assert_array_equal(f(*arrays), wanted)
    np.testing.assert_array_equal(f(**{f"p{i}": x for i, x in enumerate(arrays)}), wanted)
    np.testing.assert_array_equal(f.reference(*arrays), wanted)
    with pytest.raises(kina.KinaValueError, match=r"'N' is 2 in .* 'p0' and 3 in .*'p2999'"):
        f(*arrays[:-1], np.ones(3, np.float32))
    with pytest.raises(kina.KinaTypeError, match=r"missing: 'p1', .*'p10' and 2989 more") as caught:
        f(arrays[0])
    assert len(str(caught.value)) < 1000


def test_many_results() -> None:
    count = 450
    one = "tensor<F32, [2]>"
    results = ", ".join([one] * count)
    f = kina.compile(
        f"let f = fn(x: {one}) -> ({results}) {{ ({', '.join(['x'] * count)}) }}", fast=False
    )["f"]
    x = np.array([3, 4], np.float32)
    outs = f(x)
    assert len(outs) == count
    assert f(x, out=outs) == outs
    np.testing.assert_array_equal(outs, np.tile(x, (count, 1)))
    with pytest.raises(kina.KinaValueError, match=r"out\[449\] overlaps out\[7\]"):
        f(x, out=(*outs[:-1], outs[7]))


def test_as_many_dimensions_as_numpy_has() -> None:
    dims = ", ".join(["1"] * 63)
    indexed = f"x: tensor<F32, [{dims}, 3]>, t: tensor<I64, [{dims}]>"
    module = kina.compile(
        f"let f = fn({indexed}) -> tensor<F32, [{dims}]> {{ x.take_along_axis(t, axis=63) }}\n"
        f"let g = fn(x: tensor<F32, [{dims}, 3]>) -> tensor<F32, [{dims}, 3]> {{ x + x }}",
        fast=False,
    )
    x = np.array([1, 2, 4], np.float32).reshape((1,) * 63 + (3,))
    t = np.full((1,) * 63, 2)
    for f, g in ((module["f"], module["g"]), (module["f"].reference, module["g"].reference)):
        assert f(x, t).item() == 4
        np.testing.assert_array_equal(g(x).ravel(), [2, 4, 8])
    wide = f"tensor<F32, [{dims}, 1, 1]>"
    with pytest.raises(kina.KinaTypeError, match="a tensor has at most 64 dimensions, found 65"):
        kina.compile(f"let f = fn(x: {wide}) -> {wide} {{ x }}")
