"""What is released: the wheel and the sdist hold all that is needed, and the texts one version."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import kina

ROOT = Path(__file__).parents[2]


def test_every_text_has_the_same_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["version"] == kina.__version__
    assert f"\nversion: {kina.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest is not None
    assert newest[1] == kina.__version__


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist, made with the tools that are installed."""
    folder, tree = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("tree")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree)
    shutil.copytree(ROOT / "kina", tree / "kina", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(tree)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return folder


def test_wheel_holds_the_package_alone(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in names} == {
        "kina",
        f"kina-{kina.__version__}.dist-info",
    }
    files = [path for path in (ROOT / "kina").rglob("*.*") if path.is_file()]
    data = {str(path.relative_to(ROOT)) for path in files if path.suffix != ".pyc"}
    assert {path.suffix for path in files} >= {".py", ".c", ".h", ".html", ".mjs", ".txt"}
    assert data <= set(names)


def test_sdist_holds_what_the_wheel_is_made_of(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "README.md", "LICENSE", "kina/backend/c_library.txt"} <= names


def test_wheel_works_without_the_tree(built: Path, tmp_path: Path) -> None:
    """Installed beside what it depends on, which is not installed again."""
    (wheel,) = built.glob("*.whl")
    venv.create(tmp_path / "v", with_pip=False)
    python = tmp_path / "v/bin/python"
    (site,) = (tmp_path / "v/lib").glob("python*/site-packages")
    zipfile.ZipFile(wheel).extractall(site)
    shared = [path for path in sys.path if path.endswith("site-packages")]
    (site / "shared.pth").write_text("\n".join(shared))
    script = (
        "import kina, numpy as np\n"
        "m = kina.compile('let f = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> { x + 1 }')\n"
        "print(kina.__file__, m.f(np.float32([1, 2])))"
    )
    done = subprocess.run(
        [python, "-I", "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.stdout == f"{site}/kina/__init__.py [2. 3.]\n", done.stderr
    # What pip would write as bin/kina.
    (tmp_path / "p.kina").write_text(
        "let f = fn(x: tensor<F32, [N]>) -> tensor<F32, [N]> { x + 1 }"
    )
    script = (
        "import sys\n"
        "from importlib.metadata import distribution\n"
        "entry = distribution('kina').entry_points.select(name='kina')['kina']\n"
        "sys.argv = ['kina', 'explore', 'p.kina']\n"
        "entry.load()()"
    )
    done = subprocess.run(
        [python, "-I", "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert done.stdout.startswith("wrote p.html ("), done.stderr
