"""Running Kina's commands and mlir-opt as a user does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from kina.backend import toolchain

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def kina_opt(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """`kina-opt` with these arguments."""
    command = [sys.executable, "-W", "error", "-m", "kina.cli.opt", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def lowered(path: Path) -> str:
    """What `lower-kina` makes of a file; it holds no kina and the real mlir-opt accepts it."""
    done = kina_opt(path, "--pass", "lower-kina")
    assert done.returncode == 0, done.stderr
    assert "kina." not in done.stdout
    assert toolchain.run(toolchain.MLIR_OPT, ["--verify-each"], done.stdout)
    return done.stdout


def lowered_text(text: str, folder: Path) -> str:
    """`lowered` of a program given as text."""
    path = folder / "program.kina"
    path.write_text(text, encoding="utf-8")
    return lowered(path)
