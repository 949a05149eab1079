"""Calls from Python: arguments, results, errors, pickling, threads (seeds 9, 17; the C ABI)."""

from __future__ import annotations

import ctypes
import os
import pickle
import re
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kina

PROGRAM = """\
let nll = fn(logits: tensor<F32, [1, 4, 8]>, targets: tensor<I64, [1, 4]>) -> tensor<F32, [1, 4]> {
  -logits.log_softmax(axis=2).take_along_axis(targets, axis=2)
}
let add = fn(x: tensor<F32, [N, D]>, y: tensor<F32, [N, D]>) -> tensor<F32, [N, D]> { x + y }
let scalar = fn(x: tensor<F32, []>) -> tensor<F32, []> { -x }
let total = fn(x: tensor<F32, [4]>) -> tensor<F32, []> { x.reduce(op=sum, axis=0) }
let both = fn(x: tensor<F32, [B, V]>, t: tensor<I64, [B]>)
  -> (tensor<F32, [B]>, tensor<F32, [B, V]>) {
  let logp = x.log_softmax(axis=1) in
  (-logp.take_along_axis(t, axis=1), logp)
}
let copy = fn(x: tensor<F32, [3]>) -> (tensor<F32, [3]>, tensor<F32, [3]>) { (x, x) }
let flag = fn(x: tensor<Bool, [11]>) -> tensor<Bool, [11]> { x }
let bytes = fn(x: tensor<I8, [3]>) -> tensor<I8, [3]> { -x }
let constant = fn() -> tensor<I64, [2]> { tensor<I64, [2]>(10, 20) }
let mlir = fn(out: tensor<I32, [2]>) -> tensor<I32, [2]> { out + out }
let softmax = fn(x: tensor<F32, [R, C]>) -> tensor<F32, [R, C]> { x.log_softmax(axis=1) }
"""


@pytest.fixture(scope="module")
def module() -> Any:
    return kina.compile(PROGRAM, name="program.kina")


@pytest.fixture
def logits() -> np.ndarray:
    return np.random.default_rng(1).standard_normal((1, 4, 8)).astype(np.float32)


@pytest.fixture
def targets() -> np.ndarray:
    return np.array([[0, 7, 3, 1]])


def expected_nll(logits: np.ndarray, targets: np.ndarray) -> np.ndarray:
    x = logits.astype(np.float64)
    logp = x - np.log(np.exp(x).sum(-1, keepdims=True))
    return -np.take_along_axis(logp, targets[..., None], -1)[..., 0]


def test_call(module: Any, logits: np.ndarray, targets: np.ndarray) -> None:
    result = module.nll(logits, targets)
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, expected_nll(logits, targets), rtol=1e-6)
    np.testing.assert_allclose(module.nll.reference(logits, targets), result, rtol=1e-6)


def test_call_by_name(module: Any, logits: np.ndarray, targets: np.ndarray) -> None:
    wanted = module.nll(logits, targets)
    np.testing.assert_array_equal(module.nll(logits, targets=targets), wanted)
    np.testing.assert_array_equal(module.nll(targets=targets, logits=logits), wanted)


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


def test_no_parameters(module: Any) -> None:
    np.testing.assert_array_equal(module.constant(), [10, 20])
    out = np.empty(2, np.int64)
    assert module.constant(out=out) is out
    np.testing.assert_array_equal(out, [10, 20])


def test_tuple_and_returned_inputs(module: Any) -> None:
    x = np.array([1, 2, 3], np.float32)
    first, second = module.copy(x)
    first[0] = 9
    np.testing.assert_array_equal(second, [1, 2, 3])
    np.testing.assert_array_equal(x, [1, 2, 3])


def test_out(module: Any, logits: np.ndarray, targets: np.ndarray) -> None:
    out = np.empty((1, 4), np.float32)
    assert module.nll(logits, targets, out=out) is out
    np.testing.assert_array_equal(out, module.nll(logits, targets))
    out[...] = 0
    assert module.nll(np.asfortranarray(logits), targets, out=(out,)) is out
    np.testing.assert_array_equal(out, module.nll(logits, targets))


def test_out_tuple(module: Any) -> None:
    x, t = np.zeros((2, 3), np.float32), np.array([0, 2])
    out = np.empty(2, np.float32)
    loss, logp = module.both(x, t, out=(out, None))
    assert loss is out
    np.testing.assert_allclose(loss, np.log(3), rtol=1e-6)
    assert logp.shape == (2, 3)
    with pytest.raises(kina.KinaTypeError, match="expected a tuple of 2 arrays, got a ndarray"):
        module.both(x, t, out=out)
    with pytest.raises(kina.KinaTypeError, match="expected a tuple of 2 arrays, got a list"):
        module.both(x, t, out=[out, None])
    with pytest.raises(kina.KinaTypeError, match="expected one array, got a tuple of 2"):
        module.total(np.ones(4, np.float32), out=(out, out))


def outputs() -> dict[str, tuple[Any, type, str]]:
    read_only = np.empty(3, np.float32)
    read_only.flags.writeable = False
    return {
        "dtype": (np.empty(3), kina.KinaTypeError, "out[0]: expected dtype float32"),
        "shape": (np.empty(4, np.float32), kina.KinaValueError, "expected shape [3], got [4]"),
        "strided": (np.empty(6, np.float32)[::2], kina.KinaValueError, "in C order"),
        "read-only": (read_only, kina.KinaValueError, "read-only"),
        "list": ([0.0, 0.0, 0.0], kina.KinaTypeError, "expected an array, got list"),
    }


@pytest.mark.parametrize("name", list(outputs()))
def test_wrong_out(module: Any, name: str) -> None:
    out, error, message = outputs()[name]
    with pytest.raises(error, match=re.escape(message)):
        module.copy(np.ones(3, np.float32), out=(out, None))


class Subclass(np.ndarray):
    """An array of a class that may mean something else."""


def single_outputs() -> dict[str, tuple[Any, type, str]]:
    read_only = np.empty((1, 4), np.float32)
    read_only.flags.writeable = False
    misaligned = np.empty(17, np.int8)[1:].view(np.float32).reshape(1, 4)
    return {
        "dtype": (np.empty((1, 4)), kina.KinaTypeError, "out: expected dtype float32"),
        "byte order": (np.empty((1, 4), ">f4"), kina.KinaTypeError, "the other byte order"),
        "shape": (np.empty((4, 1), np.float32), kina.KinaValueError, "[1, 4], got [4, 1]"),
        "rank": (np.empty(4, np.float32), kina.KinaValueError, "shape [1, 4], got [4]"),
        "strided": (np.empty((1, 8), np.float32)[:, ::2], kina.KinaValueError, "in C order"),
        "misaligned": (misaligned, kina.KinaValueError, "expected an aligned array"),
        "read-only": (read_only, kina.KinaValueError, "read-only"),
        "list": ([[0.0] * 4], kina.KinaTypeError, "expected an array, got list"),
    }


@pytest.mark.parametrize("name", list(single_outputs()))
def test_wrong_single_out(module: Any, logits: np.ndarray, targets: np.ndarray, name: str) -> None:
    out, error, message = single_outputs()[name]
    with pytest.raises(error, match=re.escape(message)):
        module.nll(logits, targets, out=out)


def test_out_of_a_subclass(module: Any, logits: np.ndarray, targets: np.ndarray) -> None:
    out = np.empty((1, 4), np.float32).view(Subclass)
    assert module.nll(logits, targets, out=out) is out
    np.testing.assert_array_equal(np.asarray(out), module.nll(logits, targets))


def short_ways() -> dict[str, tuple[str, tuple[np.ndarray, ...], np.ndarray]]:
    """Calls that need no conversion, and an array for their result."""
    x = np.ones((2, 3), np.float32)
    view = np.ones(18, np.float32)[6:12].reshape(2, 3)
    read_only = x.copy()
    read_only.flags.writeable = False
    logits = np.zeros((1, 4, 8), np.float32)
    targets = np.zeros((1, 4), np.int64)
    return {
        "static": ("nll", (logits, targets), np.empty((1, 4), np.float32)),
        "symbolic": ("add", (x, x), np.empty((2, 3), np.float32)),
        "views": ("add", (view, view), np.empty(12, np.float32)[6:].reshape(2, 3)),
        "read-only": ("add", (x, read_only), np.empty((2, 3), np.float32)),
        "rank 0": ("scalar", (np.array(1, np.float32),), np.empty((), np.float32)),
        "Bool": ("flag", (np.ones(11, np.bool_),), np.empty(11, np.bool_)),
        "no parameters": ("constant", (), np.empty(2, np.int64)),
    }


@pytest.mark.parametrize("name", list(short_ways()))
def test_usual_calls_take_the_short_way(
    module: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("this call took the long way")

    monkeypatch.setattr(kina.Function, "general", refuse)
    function, args, out = short_ways()[name]
    result = module[function](*args)
    assert module[function](*args, out=out) is out
    np.testing.assert_array_equal(out, result)


@pytest.mark.parametrize("offset", [0, 1, 3, -1, -3])
def test_out_overlaps_input(module: Any, offset: int) -> None:
    memory = np.arange(12, dtype=np.float32)
    x, out = memory[4:8].reshape(2, 2), memory[4 + offset : 8 + offset].reshape(2, 2)
    before = memory.copy()
    with pytest.raises(kina.KinaValueError, match="out overlaps parameter 'x'"):
        module.softmax(x, out=out)
    np.testing.assert_array_equal(memory, before)


def test_out_is_an_input(module: Any) -> None:
    x = np.ones((2, 2), np.float32)
    with pytest.raises(kina.KinaValueError, match="out overlaps parameter 'y'"):
        module.add(np.ones((2, 2), np.float32), x, out=x)
    np.testing.assert_array_equal(x, 1)


@pytest.mark.parametrize(("place", "overlaps"), [(1, False), (2, True), (5, True), (6, False)])
def test_out_of_another_size(module: Any, place: int, overlaps: bool) -> None:
    memory = np.arange(8, dtype=np.float32)
    out = memory[place : place + 1].reshape(())
    if overlaps:
        with pytest.raises(kina.KinaValueError, match="out overlaps parameter 'x'"):
            module.total(memory[2:6], out=out)
    else:
        assert module.total(memory[2:6], out=out) == 2 + 3 + 4 + 5


@pytest.mark.parametrize("offset", [4, -4])
def test_out_beside_input(module: Any, offset: int) -> None:
    memory = np.ones(12, np.float32)
    out = memory[4 + offset : 8 + offset].reshape(2, 2)
    module.softmax(memory[4:8].reshape(2, 2), out=out)
    np.testing.assert_allclose(out, -np.log(2), rtol=1e-6)
    np.testing.assert_array_equal(memory[4:8], 1)


def test_outs_overlap(module: Any) -> None:
    memory = np.zeros(5, np.float32)
    with pytest.raises(kina.KinaValueError, match=re.escape("out[1] overlaps out[0]")):
        module.copy(np.ones(3, np.float32), out=(memory[:3], memory[2:]))


def test_index_error(module: Any, logits: np.ndarray, targets: np.ndarray) -> None:
    bad = targets.copy()
    bad[0, 2] = 2**32 + 1
    before = logits.copy(), bad.copy()
    with pytest.raises(kina.KinaIndexError) as caught:
        module.nll(logits, bad)
    assert isinstance(caught.value, IndexError)
    text = str(caught.value)
    assert text.startswith("program.kina:2:")
    for part in ("take_along_axis", "4294967297", "[0, 2]", "0 .. 7", "axis 2"):
        assert part in text
    np.testing.assert_array_equal(logits, before[0])
    np.testing.assert_array_equal(bad, before[1])
    np.testing.assert_allclose(
        module.nll(logits, targets), expected_nll(logits, targets), rtol=1e-6
    )


@pytest.mark.parametrize("index", [-1, 8, -(2**63), 2**63 - 1])
def test_every_bad_index(module: Any, logits: np.ndarray, targets: np.ndarray, index: int) -> None:
    targets[0, 3] = index
    with pytest.raises(kina.KinaIndexError, match=re.escape(f"index {index}")):
        module.nll(logits, targets)
    with pytest.raises(kina.KinaIndexError):
        module.nll.reference(logits, targets)


def test_index_error_uses_the_size_of_the_call(module: Any) -> None:
    x = np.zeros((2, 3), np.float32)
    module.both(x, np.array([0, 2]))
    with pytest.raises(kina.KinaIndexError, match=re.escape("0 .. 2")):
        module.both(x, np.array([0, 3]))


def test_names_that_attributes_hide(module: Any) -> None:
    """A function may be called like a method, its parameter like a keyword."""
    np.testing.assert_array_equal(module["mlir"](np.array([1, 2], np.int32)), [2, 4])
    assert "kina.log_softmax" in module.mlir("kina")
    assert "mlir" in module
    with pytest.raises(KeyError, match="no function 'nothing'"):
        module["nothing"]
    with pytest.raises(AttributeError, match="no function 'nothing'"):
        _ = module.nothing


def test_introspection(module: Any) -> None:
    assert {"nll", "add", "library_path"} <= set(dir(module))
    assert list(module)[:2] == ["nll", "add"]
    assert "program.kina" in repr(module)
    assert repr(module.nll) == f"<kina function {module.nll.type}>"
    assert str(module.scalar.type) == "scalar(x: tensor<F32, []>) -> tensor<F32, []>"
    assert module.library_path.is_file()


@pytest.mark.parametrize(
    ("stage", "part"),
    [
        ("kina", "kina.log_softmax"),
        ("linalg", "linalg.generic"),
        ("llvm", "i32 @kina_nll("),
        ("asm", "kina_nll:"),
    ],
)
def test_stages(module: Any, stage: str, part: str) -> None:
    assert part in module.nll.mlir(stage)
    with pytest.raises(kina.KinaValueError, match="unknown stage"):
        module.mlir("nothing")


def test_pickle(module: Any, logits: np.ndarray, targets: np.ndarray) -> None:
    function, whole = pickle.loads(pickle.dumps((module.nll, module)))
    np.testing.assert_array_equal(function(logits, targets), module.nll(logits, targets))
    assert list(whole) == list(module)
    assert str(function.type) == str(module.nll.type)


def test_threads_share_a_function(module: Any) -> None:
    def work(seed: int) -> bool:
        x = np.random.default_rng(seed).standard_normal((5, 7)).astype(np.float32)
        results = [module.softmax(x) for _ in range(50)]
        return all(np.array_equal(results[0], other) for other in results)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(8)))


def _negated(function: Any, value: float) -> float:
    return float(function(np.array(value, np.float32)))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes(module: Any, method: str) -> None:
    """A forked child uses what its parent loaded, a fresh one finds the cache."""
    with get_context(method).Pool(1) as pool:
        assert pool.apply(_negated, (module.scalar, 2.5)) == -2.5


def test_small_stack() -> None:
    """Large temporaries are on the heap: a host's thread may have little stack."""
    program = "let f = fn(x: tensor<F32, [1, 400000]>) -> tensor<F32, [1, 400000]> {"
    function = kina.compile(program + " x.log_softmax(axis=1) }").f
    found: list[np.ndarray] = []
    x = np.zeros((1, 400000), np.float32)
    before = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=lambda: found.append(function(x)))
        thread.start()
        thread.join()
    finally:
        threading.stack_size(before)
    np.testing.assert_allclose(found[0], -np.log(400000), rtol=1e-5)


def resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_nothing_leaks(module: Any) -> None:
    x = np.zeros((1000, 1000), np.float32)
    t = np.zeros(1000, np.int64)
    bad = t - 1
    for _ in range(3):
        module.both(x, t)
    before = resident_bytes()
    for _ in range(40):
        module.both(x, t)
        with pytest.raises(kina.KinaIndexError):
            module.both(x, bad)
    assert resident_bytes() - before < 20 << 20


def test_float_environment_is_left_alone(module: Any) -> None:
    """No flush to zero in this thread or a new one, after loading and after a call."""

    def smallest() -> float:
        return float(np.float32(1e-40) * np.float32(1))

    found = [smallest()]
    module.total(np.ones(4, np.float32))
    thread = threading.Thread(target=lambda: found.append(smallest()))
    thread.start()
    thread.join()
    assert found == [float(np.float32(1e-40))] * 2
    tiny = np.full(4, 1e-40, np.float32)
    assert module.total(tiny) == tiny[0] * 4


def test_two_libraries_with_equal_names() -> None:
    """Functions and constants of two programs do not mix, also under RTLD_GLOBAL."""
    text = "let f = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> {{ x + tensor<F32, [2]>({}) }}"
    programs = [kina.compile(text.format(values)) for values in ("1, 2", "10, 20")]
    script = """
import ctypes, sys
for mode in (ctypes.RTLD_LOCAL, ctypes.RTLD_GLOBAL):
    for path, wanted in (sys.argv[1:3], sys.argv[3:5]):
        out, x = (ctypes.c_float * 2)(), (ctypes.c_float * 2)()
        assert ctypes.CDLL(path, mode=mode).kina_f(x, out) == 0
        assert list(out) == [float(v) for v in wanted.split(",")], (path, list(out))
"""
    first, second = [
        (str(p.library_path), v) for p, v in zip(programs, ("1,2", "10,20"), strict=True)
    ]
    for order in ((*first, *second), (*second, *first)):
        subprocess.run([sys.executable, "-c", script, *order], check=True)


def test_only_functions_are_exported(module: Any) -> None:
    done = subprocess.run(
        ["nm", "-D", "--defined-only", module.library_path],
        capture_output=True,
        text=True,
        check=True,
    )
    names = {line.split()[-1] for line in done.stdout.splitlines()}
    assert names == {f"kina_{name}" for name in module} | {"kina_set_threads"}


def test_status_from_c(module: Any) -> None:
    """The C function itself reports a bad index and writes no input."""
    library = ctypes.CDLL(str(module.library_path))
    x, t, out = (ctypes.c_float * 32)(), (ctypes.c_int64 * 4)(0, 0, 8, 0), (ctypes.c_float * 4)()
    assert library.kina_nll(x, t, out) == 1
    t[2] = 7
    assert library.kina_nll(x, t, out) == 0
    assert out[2] == pytest.approx(np.log(8), rel=1e-6)


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


def test_set_num_threads(module: Any) -> None:
    """A library without threads has nothing to set."""
    kina.set_num_threads(2)
    np.testing.assert_array_equal(module.constant(), [10, 20])
    kina.set_num_threads(np.int64(4096))  # pyright: ignore
    with pytest.raises(kina.KinaValueError, match="the count is 1000000000, expected at most 4096"):
        kina.set_num_threads(10**9)
    kina.set_num_threads(None)


@pytest.mark.parametrize("count", [0, -1])
def test_set_num_threads_below_one(count: int) -> None:
    with pytest.raises(kina.KinaValueError, match=f"the count is {count}, expected at least 1"):
        kina.set_num_threads(count)


@pytest.mark.parametrize("count", ["a", 2.0, True])
def test_set_num_threads_to_no_integer(count: Any) -> None:
    with pytest.raises(kina.KinaTypeError, match=r"the count is .*, expected an integer"):
        kina.set_num_threads(count)


@pytest.mark.parametrize(
    "text", [None, b"let f = fn() -> tensor<F32, []> { tensor<F32, []>(1) }", 3]
)
def test_compile_takes_text(text: Any) -> None:
    with pytest.raises(kina.KinaTypeError, match="expected its text"):
        kina.compile(text)


OPTIONS = [
    ({"name": 5}, "compile: the name is a int, expected a str"),
    ({"name": b"x"}, "compile: the name is a bytes"),
    ({"target": 5}, "target: expected a str, got int"),
    ({"threads": "no"}, "threads: expected a bool, got str"),
    ({"fast": 3}, "fast: expected a bool, got int"),
]


@pytest.mark.parametrize(("named", "message"), OPTIONS)
def test_options_of_the_wrong_type(named: dict[str, Any], message: str) -> None:
    with pytest.raises(kina.KinaTypeError, match=message):
        kina.compile(PROGRAM, **named)


@pytest.mark.parametrize("path", [5, None, b"file.kina", sys.stdin])
def test_load_takes_a_path(path: Any) -> None:
    with pytest.raises(kina.KinaTypeError, match=r"load: the path is a \w+, expected a str"):
        kina.load(path)


@pytest.mark.parametrize("name", [5, [], None])
def test_functions_are_found_by_a_str(module: Any, name: Any) -> None:
    with pytest.raises(kina.KinaTypeError, match="a function is found by its name"):
        module[name]


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
