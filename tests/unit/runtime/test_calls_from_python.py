"""Calls from Python: results, and errors."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import kina


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
