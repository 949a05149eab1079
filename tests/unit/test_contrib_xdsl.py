"""The patches for xDSL apply to its release, and each mends what its test shows."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import xdsl

PATCHES = sorted((Path(__file__).parents[2] / "contrib/xdsl").glob("*.patch"))
NAMES = [path.stem for path in PATCHES]


def apply(folder: Path, patch: Path, *options: str) -> None:
    done = subprocess.run(
        ["git", "apply", "--whitespace=nowarn", *options, str(patch)],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def failed_tests(folder: Path) -> dict[str, int]:
    """How many tests of each file fail."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--junitxml=r.xml"]
    done = subprocess.run(
        [*command, "-c", "/dev/null", "--rootdir=.", "--import-mode=importlib", "tests"],
        cwd=folder, capture_output=True, text=True, check=False,
        env={"PYTHONPATH": str(folder), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found: dict[str, int] = {}
    for case in ElementTree.parse(folder / "r.xml").iter("testcase"):
        name = case.attrib["classname"].rpartition(".")[2]
        found[name] = found.get(name, 0) + (case.find("failure") is not None)
    return found


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of xDSL as it is installed."""
    folder = tmp_path_factory.mktemp("xdsl")
    ignored = shutil.ignore_patterns("__pycache__", "interactive")
    shutil.copytree(Path(xdsl.__file__).parent, folder / "xdsl", ignore=ignored)
    return folder


def test_each_patch_mends_what_its_test_shows(copied: Path) -> None:
    assert len(PATCHES) == 6
    for patch in PATCHES:
        apply(copied, patch, "--include=tests/*")
    before = failed_tests(copied)
    assert len(before) == len(PATCHES)
    assert all(before.values()), before
    for patch in PATCHES:
        apply(copied, patch, "--exclude=tests/*")
    assert not any(failed_tests(copied).values())


@pytest.mark.parametrize("patch", PATCHES, ids=NAMES)
def test_each_patch_says_why(patch: Path) -> None:
    title, empty, *text = patch.read_text().split("\n")
    assert title.startswith("Subject: ")
    assert not empty
    about = "\n".join(text).partition("diff --git")[0]
    assert len(about.split()) > 30
    assert f"`{patch.name}`" in (patch.parent / "README.md").read_text()
