"""What importing loads, and that imports go one way."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import kina

PACKAGE = Path(kina.__file__).parent

# Each part may import itself and what stands before it.
ORDER = (
    ("frozen",),
    ("errors", "dtypes", "dims", "status", "order", "machine", "philox", "garbage", "lazy"),
    ("types",),
    ("contraction",),
    ("ops",),
    ("rules", "arrays"),
    ("dialects",),
    ("frontend", "passes", "reference"),
    ("universe",),
    ("backend",),
    ("runtime", "lsp", "explore"),
    ("cli", "notebook"),
)
RANK = {part: rank for rank, parts in enumerate(ORDER) for part in parts}
# The universe is xDSL's entry point: a list of names of all parts, imported on demand.
LATE = {"universe"}


def loaded_after(code: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after `code`."""
    script = f"{code}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "code",
    [
        "import kina",
        "import kina; kina.KinaError",
        "import kina.dtypes, kina.types, kina.ops, kina.rules.infer",
    ],
)
def test_light_imports_load_neither_xdsl_nor_numpy(code: str) -> None:
    loaded = loaded_after(code)
    assert "kina" in loaded
    assert not {"xdsl", "numpy", "typer", "_cffi_backend"} & loaded


def test_command_line_loads_no_compiler_before_it_knows_the_command() -> None:
    assert not {"xdsl", "numpy", "_cffi_backend"} & loaded_after("import kina.cli.main")


def test_runtime_loads_no_xdsl() -> None:
    """A cached program is loaded without it."""
    assert "xdsl" not in loaded_after("import kina; kina.load, kina.set_num_threads")


def test_every_public_name_exists() -> None:
    for name in kina.__all__:
        assert getattr(kina, name).__name__ == name
    assert set(kina.__all__) <= set(dir(kina))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = kina.nothing


def imported_parts(path: Path) -> set[str]:
    """The parts of Kina that a file imports, lazily or not."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return {name.split(".")[1] for name in names if name.startswith("kina.")}


def test_imports_go_one_way() -> None:
    """`dialects <- frontend`, `dialects <- passes <- backend <- runtime <- cli`."""
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        part = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        if part == "__init__" or part in LATE:
            continue
        for used in imported_parts(path):
            if used != part and RANK[used] >= RANK[part]:
                wrong.append(f"{path.relative_to(PACKAGE)} imports kina.{used}")
    assert not wrong
