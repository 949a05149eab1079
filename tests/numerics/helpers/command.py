"""The `kina` command, run by tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from kina.cli.main import main

COMMAND = (sys.executable, "-m", "kina.cli.main")
EXAMPLES = Path(__file__).parents[3] / "examples"
NLL = EXAMPLES / "storylm0_nll.kina"
ADD = "let f = fn(x: tensor<F32, [N]>, k: tensor<I8, [N]>) -> tensor<F32, [N]> { x + k.cast(F32) }"


class Done(NamedTuple):
    """How a run ended."""

    returncode: object
    stdout: str
    stderr: str


def kina(
    *arguments: str | Path, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Done:
    """Run the command: here, or where the environment matters in a process of its own."""
    words = [str(argument) for argument in arguments]
    if env is not None:
        return kina_process(words, cwd, env)
    output, errors = StringIO(), StringIO()
    with chdir(cwd or "."), redirect_stdout(output), redirect_stderr(errors):
        try:
            main(words)
        except SystemExit as leaving:
            return Done(leaving.code, output.getvalue(), errors.getvalue())
    raise AssertionError("main returned")


def kina_process(words: Sequence[str], cwd: Path | None, env: Mapping[str, str]) -> Done:
    done = subprocess.run(
        [*COMMAND, *words],
        capture_output=True,
        encoding="utf-8",
        cwd=cwd,
        env={**os.environ, "KINA_DEBUG": "", **env},
        check=False,
        timeout=120,
    )
    return Done(done.returncode, done.stdout, done.stderr)


def fails(done: Done, *parts: str) -> None:
    """The run failed with one diagnostic that says all of `parts`."""
    assert done.returncode == 1, done
    assert "Traceback" not in done.stderr
    assert done.stderr.count("error: ") == 1, done.stderr
    for part in parts:
        assert part in done.stderr


def tool(folder: Path, name: str, script: str) -> str:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)
