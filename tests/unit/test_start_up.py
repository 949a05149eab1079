"""What a `kina run` loads and starts: nothing twice, nothing that it does not use."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = "let f = fn(x: tensor<F32, [3]>) -> tensor<F32, [3]> { x + x }"

# Prints the programs that were started and the first import of NumPy, in order, and all modules.
SCRIPT = """\
import sys
from pathlib import Path

events = []

def hook(event, arguments):
    if event == "subprocess.Popen":
        events.append(Path(arguments[1][0]).name)
    elif event == "import" and arguments[0] == "numpy" and "numpy" not in events:
        events.append("numpy")

sys.addaudithook(hook)
from kina.cli.main import main

try:
    main(["run", sys.argv[1]])
except SystemExit as end:
    print("status", end.code)
print("events", *events)
print("modules", *sys.modules)
"""

COMPILER = {
    "xdsl",
    "concurrent.futures",
    "kina.backend.compilation",
    "kina.backend.codegen",
    "kina.frontend.lexer",
    "kina.frontend.typed",
    "kina.rules.infer",
    "kina.reference",
}

# Parts that this program has no use for.
UNUSED = {
    "kina.reference",
    "kina.passes.vjp.table",
    "xdsl.dialects.affine",
    "xdsl.dialects.llvm",
    "xdsl.dialects.transform",
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "double.kina"
    path.write_text(PROGRAM)
    return path


def run(file: Path) -> dict[str, list[str]]:
    """The last lines of a run by their first word."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, file],
        env=os.environ | {"KINA_CACHE": str(file.parent / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line.split() for line in done.stdout.splitlines()[-3:]]
    return {word: rest for word, *rest in lines}


def test_first_run_starts_each_tool_once(file: Path) -> None:
    """All but the linker at once; NumPy is loaded while they run."""
    first = run(file)
    assert first["status"] == ["0"]
    tools = ["mlir-opt", "mlir-translate", "opt", "llc"]
    assert first["events"][:5] == [*tools, "numpy"]
    assert len(first["events"]) == 6
    assert not UNUSED & set(first["modules"])


def test_next_run_loads_no_compiler(file: Path) -> None:
    run(file)
    second = run(file)
    assert second["status"] == ["0"]
    assert second["events"] == ["numpy"]
    assert "kina.runtime.module" in second["modules"]
    assert not COMPILER & set(second["modules"])
