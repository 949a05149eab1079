"""Runs examples/recipes: Kina's loss from PyTorch, JAX, Rust and a CMake project."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "examples" / "recipes"
# As after `. .venv/bin/activate`.
ENVIRONMENT = {
    **os.environ,
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
}


def run(*command: str | Path, folder: Path = ROOT) -> str:
    """What a command prints; it must succeed."""
    done = subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def commands(file: Path, comment: str) -> list[str]:
    """The shell commands in the first comment of a file: its lines that are indented."""
    start = f"{comment}     "
    lines = file.read_text(encoding="utf-8").splitlines()
    return [line.removeprefix(start) for line in lines if line.startswith(start)]


@pytest.fixture
def recipes(tmp_path: Path) -> Path:
    """A copy, since compilers write beside what they read."""
    return Path(shutil.copytree(RECIPES, tmp_path / "recipes"))


@pytest.mark.usefixtures("torch")
def test_torch() -> None:
    printed = run(sys.executable, "-W", "error", RECIPES / "with_torch.py")
    assert printed == "PyTorch: loss 2.2138, the gradients agree\n"


@pytest.mark.usefixtures("jax")
def test_jax() -> None:
    printed = run(sys.executable, "-W", "error", RECIPES / "with_jax.py")
    assert printed.startswith("JAX: loss ")
    assert printed.endswith(", the gradients agree\n")


@pytest.mark.skipif(shutil.which("rustc") is None, reason="rustc is not installed here")
def test_rust(recipes: Path) -> None:
    build = commands(RECIPES / "rust/main.rs", "//!")
    assert [line.split()[0] for line in build] == ["kina", "rustc", "./main"]
    printed = run("bash", "-ec", "\n".join(build), folder=recipes / "rust")
    assert printed.splitlines()[-2:] == ["Ok([1.3863, 0.4402])", "Err(Check(1))"]


@pytest.mark.skipif(shutil.which("cmake") is None, reason="CMake is not installed here")
def test_cmake(recipes: Path) -> None:
    build = commands(RECIPES / "cmake/CMakeLists.txt", "#")
    assert len(build) == 1
    printed = run("bash", "-ec", build[0], folder=recipes / "cmake")
    ok, failed = printed.splitlines()[-2:]
    assert ok == "ok: 1.3863 0.4402"
    assert failed.endswith("loss.kina:3:31: take_along_axis: index out of range 0 .. V-1 (axis 1)")
