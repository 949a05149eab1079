"""What a loaded library must not do to the process that calls it."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest

import kina

TINY = np.float32(1e-40)
"""Subnormal: it is gone once someone sets flush-to-zero."""


def keeps_subnormals() -> bool:
    return float(TINY * np.float32(1)) == float(TINY) != 0


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.fixture(scope="module")
def program() -> kina.Module:
    return kina.compile(
        "let f = fn(x: tensor<F32, [N, M]>) -> tensor<F32, [N, M]> { x.log_softmax(axis=1) }"
    )


def test_subnormals_survive_loading_and_calling(program: kina.Module) -> None:
    seen = [keeps_subnormals()]
    program.f(np.ones((2, 3), np.float32))
    seen.append(keeps_subnormals())
    thread = threading.Thread(target=lambda: seen.append(keeps_subnormals()))
    thread.start()
    thread.join()
    assert seen == [True, True, True]


def test_compiled_code_keeps_subnormals() -> None:
    program = kina.compile("let f = fn(x: tensor<F32, [4]>) -> tensor<F32, [4]> { x * 1.0 }")
    x = np.array([TINY, -TINY, 1e-45, 0], np.float32)
    np.testing.assert_array_equal(program.f(x).view(np.uint32), x.view(np.uint32))


def test_two_programs_with_the_same_names_stay_apart() -> None:
    text = "let f = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> {{ x + tensor<F32, [2]>({}) }}"
    ones, tens = kina.compile(text.format("1, 2")), kina.compile(text.format("10, 20"))
    zero = np.zeros(2, np.float32)
    for _ in range(2):
        assert ones.f(zero).tolist() == [1, 2]
        assert tens.f(zero).tolist() == [10, 20]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads Linux's /proc")
def test_calls_free_what_they_take(program: kina.Module) -> None:
    """Results and temporaries of 300 calls, 1.2 GB of each, do not stay."""
    x = np.zeros((1000, 1000), np.float32)
    for _ in range(5):
        program.f(x)
    before = resident_bytes()
    for _ in range(300):
        program.f(x)
    assert resident_bytes() - before < 20e6


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads Linux's /proc")
def test_failed_calls_free_what_they_take() -> None:
    program = kina.compile(
        "let f = fn(x: tensor<F32, [N, M]>, i: tensor<I64, [N]>) -> tensor<F32, [N]> {"
        " let y = x.softmax(axis=1) in (y * y).take_along_axis(i, axis=1) }"
    )
    x, bad = np.zeros((1000, 1000), np.float32), np.full(1000, -1)
    before = None
    for turn in range(105):
        with pytest.raises(kina.KinaIndexError):
            program.f(x, bad)
        if turn == 5:
            before = resident_bytes()
    assert before is not None
    assert resident_bytes() - before < 20e6
