"""docs/adding_an_op.md, followed by the letter: its snippets go into a copy of the package."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import kina

PACKAGE = Path(kina.__file__).parent
ROOT = PACKAGE.parent
TABLES = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "test_tables.py", "-k", "forgot"]
STARTS = {
    "kina/ops.py": "OPS: dict[str, Op] = {\n    op.name: op\n    for op in (\n",
    "kina/dialects/table.py": '    "kina.dialects",\n    {\n',
}
"""What stands before the first row of a table."""
PAGE = (ROOT / "docs" / "adding_an_op.md").read_text("utf-8")


def snippets() -> list[tuple[str, str]]:
    """Each file that the page names, with what it adds there."""
    steps = re.split(r"^\d+\. ", PAGE.partition("```python run")[0], flags=re.MULTILINE)[1:]
    found: list[tuple[str, str]] = []
    for step in steps:
        before, fence, rest = step.partition("   ```python\n")
        if fence:
            code = dedent(rest.partition("   ```\n")[0])
            found.append((re.findall(r"`(kina/[\w/]+\.py)`", before)[0], code))
    return found


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A folder with a package that may be changed, and the test of its tables."""
    shutil.copytree(PACKAGE, tmp_path / "kina", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "tests" / "unit" / "test_tables.py", tmp_path)
    return tmp_path


def add(folder: Path, file: str, code: str) -> None:
    """A row goes to the front of its table, anything else to the end of its file."""
    path = folder / file
    text = path.read_text("utf-8")
    if file in STARTS:
        start = text.index(STARTS[file]) + len(STARTS[file])
        path.write_text(text[:start] + code + text[start:], "utf-8")
    else:
        path.write_text(f"{text}\n\n{code}", "utf-8")


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Python on the copy."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder), *sys.path]),
        "KINA_CACHE": str(folder / "cache"),
    }
    command = [sys.executable, *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_the_page_adds_an_operation(copy: Path) -> None:
    files = [file for file, _ in snippets()]
    assert files == [
        "kina/ops.py",
        "kina/dialects/elementwise.py",
        "kina/dialects/table.py",
        "kina/passes/vjp/elementwise.py",
    ]
    for file, code in snippets():
        add(copy, file, code)
    program = re.findall(r"```python run\n(.*?)```", PAGE, re.DOTALL)[0]
    done = run(
        copy, "-c", f"import kina; assert kina.__file__.startswith({str(copy)!r})\n{program}"
    )
    assert done.returncode == 0, done.stderr
    done = run(copy, *TABLES)
    assert done.returncode == 0, done.stdout


def test_a_row_alone_is_reported(copy: Path) -> None:
    """The tables say which parts the page's operation lacks, each by its file."""
    (file, row), *_ = snippets()
    add(copy, file, row)
    done = run(
        copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_tables.py", "-k", "forgot"
    )
    assert done.returncode == 1, done.stdout + done.stderr
    for part in ("class in kina/dialects", "rule in kina/passes/vjp"):
        assert f"copysign: no {part}" in done.stdout
