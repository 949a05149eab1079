"""Calls with `out`, and where it may lie."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import kina


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
