"""Input that nobody means well: no traceback, no hang, little memory; `make fuzz` tries more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tools.fuzzing.targets import MEGABYTES, Finding, tried

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("target", "inputs"), [("front", 60), ("opt", 30)])
def test_changed_programs(target: str, inputs: int, tmp_path: Path) -> None:
    command = [sys.executable, "tools/fuzz.py", "--engine", "hypothesis", "--target", target]
    command += ["--inputs", str(inputs), "--folder", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert f"{target}: {inputs} inputs" in done.stdout
    assert not list(tmp_path.glob("*.input")), done.stdout
    assert done.returncode == 0, done.stderr


def fails(data: bytes) -> None:
    raise KeyError(data)


def hangs(data: bytes) -> None:
    while data:
        pass


def hangs_deaf(data: bytes) -> None:
    """In one call of C code, which looks at no signal."""
    sum(range(int(data)))


def test_what_is_looked_for_is_found() -> None:
    with pytest.raises(Finding) as found:
        tried(fails, b"x")
    assert found.value.what == "KeyError in test_hostile_input.py:fails"
    assert "KeyError: b'x'" in found.value.details
    with pytest.raises(Finding) as found:
        tried(hangs, b"x", seconds=0.05)
    assert found.value.what == "hangs in test_hostile_input.py:hangs"
    with pytest.raises(Finding) as found:
        tried(hangs_deaf, b"20000000", seconds=0.05)
    assert found.value.what.startswith("hangs in ")
    tried(hangs_deaf, b"2", seconds=5)


def test_memory_is_looked_at() -> None:
    """Also in a process that one of more memory started."""
    script = (
        "from tools.fuzzing.targets import Finding, tried\n"
        f"try: tried(lambda data: b'x' * (({MEGABYTES} + 50) << 20), b'', seconds=60)\n"
        "except Finding as finding: print(finding.what)\n"
    )
    held = b"x" * ((MEGABYTES + 100) << 20)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert held
    assert done.stdout.startswith("takes ")
