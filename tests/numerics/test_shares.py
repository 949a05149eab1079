"""Products of known columns on threads: nothing is written beside a result, no bit changes.

One module holds the programs: a library costs more to build than a function in it.
"""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
import pytest

import kina
from helpers.settings import machines

WEIGHTS = {"F32": np.float32, "BF16": ml_dtypes.bfloat16, "I8": np.int8, "bytes": np.int8}
CASES = [
    (1, 576, 960, "F32", "nn"),
    (1, 576, 960, "I8", "nn"),
    (1, 576, 960, "I8", "nt"),
    (1, 576, 960, "bytes", "nn"),
    (1, 576, 960, "bytes", "nt"),
    (32, 512, 384, "bytes", "nn"),
    (1, 1030, 384, "BF16", "nt"),
    (2, 512, 1000, "BF16", "nn"),
    (5, 576, 384, "F32", "nt"),
]
"""Rows, products of each, columns, the dtype of the weights (`bytes`: of both), how they lie."""
BESIDE = 1024
"""Elements before and behind a result that nobody may touch."""


def source(number: int, case: tuple[int, int, int, str, str]) -> str:
    rows, depth, columns, dtype, lie = case
    shape = f"[{depth}, {columns}]" if lie == "nn" else f"[{columns}, {depth}]"
    left, right, wide = ("I8", "I8", "I32") if dtype == "bytes" else ("F32", dtype, "F32")
    x = "x" if left == wide else f"x.cast({wide})"
    w = "w" if right == wide else f"w.cast({wide})"
    turned = "" if lie == "nn" else ".transpose([1, 0])"
    return (
        f"let f{number} = fn(x: tensor<{left}, [{rows}, {depth}]>, w: tensor<{right}, {shape}>)"
        f" -> tensor<{wide}, [{rows}, {columns}]> "
        f"{{ {x}.matmul({w}{turned}) }}\n"
    )


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kina.Module]:
    """The programs on machines where little work is worth a thread."""
    with machines({"grain": 1 << 14}, tmp_path_factory.mktemp("cache")):
        made = kina.compile("".join(source(*each) for each in enumerate(CASES)))
    yield made
    kina.set_num_threads(None)


@pytest.mark.parametrize("number", range(len(CASES)))
def test_nothing_is_written_beside_a_result(module: kina.Module, number: int) -> None:
    rows, depth, columns, dtype, lie = CASES[number]
    rng = np.random.default_rng(number)
    shape = (depth, columns) if lie == "nn" else (columns, depth)
    weights = (rng.standard_normal(shape) * 9).astype(WEIGHTS[dtype])
    x = rng.integers(-128, 128, (rows, depth)).astype(np.int8 if dtype == "bytes" else np.float32)
    found: set[bytes] = set()
    for threads in (1, 2, 3, 4):
        kina.set_num_threads(threads)
        memory = np.full(
            rows * columns + 2 * BESIDE, 77, np.int32 if dtype == "bytes" else np.float32
        )
        out = memory[BESIDE:-BESIDE].reshape(rows, columns)
        module[f"f{number}"](x, weights, out=out)
        assert (memory[:BESIDE] == 77).all(), threads
        assert (memory[-BESIDE:] == 77).all(), threads
        found.add(out.tobytes())
    assert len(found) == 1
