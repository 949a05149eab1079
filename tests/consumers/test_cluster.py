"""A corpus in shards: one total, however it is cut, whoever scores it, and whoever is lost."""

from __future__ import annotations

import importlib
import subprocess
import sys
from math import fsum
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "cluster"
SIZE, SHARD = 1_000_000, 400_000
"""Of the corpus and of its files, the last of which is shorter."""


@pytest.fixture(scope="module")
def scoring() -> ModuleType:
    sys.path.insert(0, str(FOLDER))
    try:
        return importlib.import_module("score")
    finally:
        sys.path.remove(str(FOLDER))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("corpus")


def run(folder: Path, *words: str) -> tuple[str, str]:
    command = [sys.executable, FOLDER / "score.py", folder, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_total_is_the_same_in_one_process_and_on_a_cluster_that_loses_a_worker(
    folder: Path, scoring: ModuleType
) -> None:
    words = ["--make", "1", "--shard", str(SHARD), "--block", "30001", "--lose-a-worker"]
    said, progress = run(folder, *words)
    killed, result = said.splitlines()
    assert killed.startswith("killing the worker tcp://")
    assert "35 of 35 blocks, 100 %" in progress
    assert "a worker took " in progress

    shards = sorted(folder.iterdir())
    assert [shard.stat().st_size for shard in shards] == [SHARD, SHARD, SIZE - 2 * SHARD]
    score = scoring.model()
    totals = [
        scoring.total(scoring.alone(score, todo), todo)
        for todo in (list(scoring.blocks(shards, size)) for size in (30_001, 7_777, SIZE))
    ]
    assert len(set(totals)) == 1
    assert result.startswith(f"{SIZE - 3} bytes: {totals[0]} units of 2^-24 nats, ")

    costs = -score.logits + np.log(np.exp(score.logits.astype(float)).sum(axis=1, keepdims=True))
    texts = [np.frombuffer(shard.read_bytes(), np.uint8) for shard in shards]
    exact = fsum(fsum(costs[text[:-1], text[1:]]) for text in texts)
    assert totals[0] * 2.0**-24 == pytest.approx(exact, rel=1e-6)


def test_all_bytes_are_indices(scoring: ModuleType, tmp_path: Path) -> None:
    """Those past 127 as well, which are negative as I8."""
    (tmp_path / "0.bytes").write_bytes(bytes(range(256)))
    score = scoring.model()
    score.logits[:] = 0
    (todo,) = scoring.blocks([tmp_path / "0.bytes"])
    assert score(todo) == 255 * round(np.log(256) * 2**24 / 16) * 16


def test_no_corpus(tmp_path: Path) -> None:
    command = [sys.executable, FOLDER / "score.py", tmp_path, "--single"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "no .bytes files here; --make 1000 writes a gigabyte of them" in done.stderr
