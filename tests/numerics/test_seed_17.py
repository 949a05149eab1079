"""The tests that seed 17 lists (section 7): argmax, by the names of their programs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kina
from helpers.refusals import refused
from helpers.tools import EXAMPLES, kina_opt, lowered

TOOLS = EXAMPLES.parent / "tools"


def test_argmax_axis1() -> None:
    emitted = lowered(EXAMPLES / "argmax_axis1.kina")
    assert "linalg.index" in emitted
    assert "-> tensor<2xi64>" in emitted
    got = kina.load(EXAMPLES / "argmax_axis1.kina").argmax_axis1(
        np.array([[1, 5, 2], [7, 7, 0]], np.float32)
    )
    assert got.tolist() == [1, 0]
    assert got.dtype == np.int64


def test_argmax_keep_axis1() -> None:
    emitted = lowered(EXAMPLES / "argmax_keep_axis1.kina")
    assert "linalg.index" in emitted
    assert "-> tensor<2x1xi64>" in emitted
    module = kina.load(EXAMPLES / "argmax_keep_axis1.kina")
    got = module.argmax_keep_axis1(np.array([[1, 5, 2], [7, 7, 0]], np.float32))
    assert got.tolist() == [[1], [0]]


def test_storylm0_greedy() -> None:
    emitted = lowered(EXAMPLES / "storylm0_greedy.kina")
    assert "-> tensor<1x4xi64>" in emitted
    assert "arith.cmpf ogt" in emitted
    logits = np.random.default_rng(17).normal(0, 3, (1, 4, 8)).astype(np.float32)
    logits[0, 1, [2, 6]] = 20
    got = kina.load(EXAMPLES / "storylm0_greedy.kina").greedy(logits)
    np.testing.assert_array_equal(got, logits.argmax(2))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("invalid_argmax_bool", "dtype Bool, expected"),
        ("invalid_argmax_device", "on @device, expected @host"),
    ],
)
def test_invalid_argmax(name: str, words: str) -> None:
    path = EXAMPLES / f"{name}.kina"
    refused(path.read_text(encoding="utf-8"), words)
    done = kina_opt(path, "--pass", "lower-kina")
    assert done.returncode == 1
    assert words in done.stderr
    assert "^" in done.stderr
    assert "Traceback" not in done.stderr


def test_validate_argmax() -> None:
    done = run_tool("validate_argmax.py")
    assert done.returncode == 0, done.stdout + done.stderr


def run_tool(name: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", str(Path(TOOLS) / name)]
    return subprocess.run(command, capture_output=True, text=True, check=False)
