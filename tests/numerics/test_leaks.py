"""Nothing stays of calls and of compilations, however many there are."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

NUMERICS = Path(__file__).parent


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("kind", "first", "count", "kilobytes"),
    [
        ("calls", 10_000, 50_000, 400),
        ("compilations", 3, 5, 4_000),
        pytest.param("calls", 100_000, 2_000_000, 400, marks=pytest.mark.sweep),
        # Python has as many blocks; pieces of what malloc had are left, 1.3 KB of each.
        pytest.param("compilations", 200, 1_800, 3_600, marks=pytest.mark.sweep),
    ],
)
def test_nothing_stays(kind: str, first: int, count: int, kilobytes: int, tmp_path: Path) -> None:
    temporary, cache = tmp_path / "temporary", tmp_path / "cache"
    temporary.mkdir()
    cache.mkdir()
    paths = os.pathsep.join([str(NUMERICS), str(NUMERICS.parent.parent)])
    done = subprocess.run(
        [sys.executable, "-m", "helpers.leaks", kind, str(first), str(count)],
        env={
            **os.environ,
            **{"PYTHONPATH": paths, "TMPDIR": str(temporary), "KINA_CACHE": str(cache)},
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    before, after = json.loads(done.stdout)
    shown = f"{before} became {after}"
    assert after["kilobytes"] - before["kilobytes"] <= kilobytes, shown
    assert after["objects"] - before["objects"] <= 50, shown
    assert after["blocks"] - before["blocks"] <= 500, shown
    for what in ("files", "threads", "children", "libraries", "left"):
        assert after[what] == before[what], shown
