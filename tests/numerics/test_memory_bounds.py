"""Masked vectors stay within the arrays: pages right beside them must not be touched."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

NUMERICS = Path(__file__).parent


@pytest.mark.skipif(sys.platform != "linux", reason="uses mprotect of Linux")
@pytest.mark.parametrize("way", ["fast", "plain"])
def test_no_call_leaves_its_arrays(way: str) -> None:
    paths = os.pathsep.join([str(NUMERICS), str(NUMERICS.parent.parent)])
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-m", "helpers.guarded", way],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
