"""Wrong `.kina` programs in xDSL's own tools: the diagnostics of Kina."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """\
// é
let f = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> { x.wrong() }
let g = fn(x: tensor<F32, [2]>) -> tensor<F32, [3]> { x }
"""
TOOLS = {"xdsl-opt": "xdsl.tools.xdsl_opt", "kina-opt": "kina.cli.opt"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "wrong.kina"
    path.write_text(PROGRAM, encoding="utf-8")
    return path


def run(tool: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", TOOLS[tool], *arguments]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=False)


@pytest.mark.parametrize("tool", TOOLS)
def test_parsing_diagnostics(tool: str, file: Path) -> None:
    done = run(tool, file, "--parsing-diagnostics")
    assert done.returncode == 0
    assert not done.stderr
    assert done.stdout.startswith(f"{file}:2:57: error: unknown function `wrong`")
    assert f"{file}:3:55: error: " in done.stdout


def test_kina_opt_fails_with_all_diagnostics(file: Path) -> None:
    done = run("kina-opt", file)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{file}:2:57: error: unknown function `wrong`")
    assert done.stderr.count("error: ") == 2
    assert "Traceback" not in done.stderr


def test_span_is_the_place_of_the_first_mistake(file: Path) -> None:
    """What an editor would mark."""
    from xdsl.context import Context

    from kina.frontend.xdsl_frontend import KinaFrontend, ProgramError

    with file.open("rb") as stream, pytest.raises(ProgramError) as caught:
        KinaFrontend().parse(Context(), stream, str(file))
    assert caught.value.span.text == "wrong"
    assert caught.value.span.get_location().line == 2
