"""`tools/peers.py`: installs what can be had, says what cannot, and never waits for long.

No network: pip looks into one folder, which holds a package called jax and nothing else.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[2]
NOWHERE = "http://127.0.0.1:9/"
METADATA = "Metadata-Version: 2.1\nName: jax\nVersion: 1.0\n"
WHEEL = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("peers")
    with ZipFile(path / "jax-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("jax/__init__.py", "")
        wheel.writestr("jax-1.0.dist-info/METADATA", METADATA)
        wheel.writestr("jax-1.0.dist-info/WHEEL", WHEEL)
        wheel.writestr("jax-1.0.dist-info/RECORD", "")
    return path


def peers(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    offline = {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(folder),
        "PIP_CONFIG_FILE": os.devnull,
        "no_proxy": "*",
    }
    command = [sys.executable, "tools/peers.py", "--venv", folder / "venv", *arguments]
    return subprocess.run(
        [*command, f"--torch-index={NOWHERE}"],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, **offline},
    )


@pytest.fixture(scope="module")
def first(folder: Path) -> subprocess.CompletedProcess[str]:
    """The first run, which also makes the environment."""
    return peers(folder, "torch", "jax")


def test_sizes_are_said_before_anything_is_fetched(
    first: subprocess.CompletedProcess[str], folder: Path
) -> None:
    line = first.stdout.splitlines()[0]
    found = re.match(r"Downloading torch \((\d+) MB\), jax \((\d+) MB\), (\d+) MB in all, ", line)
    assert found is not None, line
    torch, jax, total = (int(text) for text in found.groups())
    assert total == torch + jax
    assert f"into {folder / 'venv'}: at most 300 s each" in line
    assert f"PyTorch for CPUs from {NOWHERE}" in line


def test_what_cannot_be_had_is_left_out_and_said(first: subprocess.CompletedProcess[str]) -> None:
    assert first.returncode == 0, first.stderr
    torch, jax = first.stdout.splitlines()[1:]
    assert torch.startswith("torch: left out: No matching distribution found for torch==")
    assert f"({NOWHERE} cannot be reached: " in torch
    assert jax == "jax: installed"


@pytest.mark.usefixtures("first")
def test_the_environment_has_the_peer_and_all_that_this_one_has(folder: Path) -> None:
    code = "import jax, numpy, pytest, kina.runtime; print(jax.__file__)"
    command = [folder / "venv/bin/python", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert Path(done.stdout.strip()).is_relative_to(folder / "venv")


@pytest.mark.usefixtures("first")
def test_a_second_run_fetches_nothing(folder: Path) -> None:
    assert peers(folder, "jax").stdout == "jax: installed\n"


@pytest.mark.usefixtures("first")
def test_a_library_has_a_deadline(folder: Path) -> None:
    done = peers(folder, "numba", "--deadline", "0.01")
    assert done.returncode == 0
    assert done.stdout.splitlines()[1] == "numba: left out: it took longer than 0.01 s"


def test_an_unknown_library_is_refused(folder: Path) -> None:
    done = peers(folder, "tensorflow")
    assert done.returncode == 2
    assert "invalid choice: 'tensorflow' (choose from" in done.stderr
