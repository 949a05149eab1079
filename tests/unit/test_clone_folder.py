"""`import kina` beside a folder called `kina`: a clone, or a folder of programs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """\
import kina, sys
import kina.types
from kina.errors import KinaTypeError

assert kina.KinaTypeError is KinaTypeError
assert sys.modules["kina"] is kina
print(kina.__file__)
print(kina.types.__file__)
"""
FINDER = """\
import sys
from importlib.util import spec_from_file_location

class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return spec_from_file_location(name, {init!r}) if name == "kina" else None

sys.meta_path.append(Finder)
"""
"""As setuptools can write it for an editable install: asked last, after all folders."""


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with a script in it, and an environment with nothing installed."""
    (tmp_path / "script.py").write_text(SCRIPT, encoding="utf-8")
    venv.create(tmp_path / "venv", symlinks=True)
    return tmp_path


def site_packages(desk: Path) -> Path:
    """Where the desk's environment holds packages."""
    names = {"base": desk / "venv", "platbase": desk / "venv"}
    return Path(sysconfig.get_path("purelib", "venv", vars={k: str(v) for k, v in names.items()}))


def package_in(folder: Path) -> Path:
    """Copy Kina into a folder; returns the package."""
    ignored = shutil.ignore_patterns("__pycache__")
    return Path(shutil.copytree(ROOT / "kina", folder / "kina", ignore=ignored))


def clone_in(folder: Path) -> Path:
    """A clone called `kina` in a folder; returns the package inside."""
    package = package_in(folder / "kina")
    shutil.copy(ROOT / "__init__.py", folder / "kina")
    return package


def assert_imports(desk: Path, package: Path, *options: str) -> None:
    """The script gets this package, also its modules."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    command = [desk / "venv/bin/python", *options, desk / "script.py"]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=desk, env=environment
    )
    assert done.returncode == 0, done.stderr
    files = [package / "__init__.py", package / "types.py"]
    assert [Path(line) for line in done.stdout.splitlines()] == files


def test_a_clone_and_nothing_installed(desk: Path) -> None:
    assert_imports(desk, clone_in(desk))


def test_a_clone_with_an_editable_install_by_path(desk: Path) -> None:
    package = clone_in(desk)
    (site_packages(desk) / "kina.pth").write_text(f"{package.parent}\n", encoding="utf-8")
    assert_imports(desk, package)


def test_a_clone_with_an_editable_install_by_finder(desk: Path) -> None:
    package = clone_in(desk)
    finder = FINDER.format(init=str(package / "__init__.py"))
    (site_packages(desk) / "editable.py").write_text(finder, encoding="utf-8")
    (site_packages(desk) / "kina.pth").write_text("import editable\n", encoding="utf-8")
    assert_imports(desk, package)


def test_what_is_installed_comes_before_a_clone(desk: Path) -> None:
    """As it would without the clone."""
    clone_in(desk)
    assert_imports(desk, package_in(site_packages(desk)))


def test_a_clone_that_another_clone_is_installed_from(desk: Path) -> None:
    clone_in(desk)
    other = clone_in(desk / "other")
    (site_packages(desk) / "kina.pth").write_text(f"{other.parent}\n", encoding="utf-8")
    assert_imports(desk, other)


def test_a_folder_of_programs_with_an_editable_install(desk: Path) -> None:
    """`pip install -e` writes a path, which a folder without Python in it does not hide."""
    package = clone_in(desk / "elsewhere")
    (desk / "kina").mkdir()
    (desk / "kina/loss.kina").touch()
    (site_packages(desk) / "kina.pth").write_text(f"{package.parent}\n", encoding="utf-8")
    assert_imports(desk, package)


def test_the_clone_under_another_name_is_left_alone(desk: Path) -> None:
    """Nothing is loaded when somebody imports the folder itself."""
    clone_in(desk)
    (desk / "kina").rename(desk / "kina_main")
    code = "import kina_main, sys; assert 'kina' not in sys.modules"
    subprocess.run([sys.executable, "-S", "-c", code], cwd=desk, check=True)
