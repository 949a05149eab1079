"""Lowering in a process that is forked before the command is read."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from kina.cli.start import will_compile
from kina.dtypes import DTYPES

PROGRAM = "let f = fn(x: tensor<F32, [B, 3]>) -> tensor<F32, [B, 3]> { x.softmax(axis=1) }"

# What a command prints, whether it forked and whether it loaded xDSL, and its status.
SCRIPT = """\
import os, sys

parent, forked, fails = os.getpid(), [], sys.argv.pop(1) == "fails"

def hook(event, arguments):
    if event == "os.fork":
        forked.append(True)
    elif event == "import" and arguments[0] == "xdsl" and fails and os.getpid() != parent:
        raise ImportError("not here")

sys.addaudithook(hook)
from kina.cli.start import kina

try:
    kina()
except SystemExit as end:
    print("forked" if forked else "alone", "xdsl" in sys.modules, end.code)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "program.kina"
    path.write_text(PROGRAM)
    return path


def command(file: Path, *words: str, fails: bool = False) -> tuple[str, list[str]]:
    """What a command printed, and the three words of the last line; nothing goes to stderr."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, "fails" if fails else "works", *words, file],
        env=os.environ | {"KINA_CACHE": str(file.parent / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert not done.stderr
    printed, _, last = done.stdout.rstrip().rpartition("\n")
    return printed, last.split()


def test_a_first_run_leaves_the_compiler_to_the_other_process(file: Path) -> None:
    first, how = command(file, "run")
    assert how == ["forked", "False", "0"]
    again, how = command(file, "run")
    assert how == ["alone", "False", "0"]
    assert again == first


def test_without_the_other_process_all_is_done_here(file: Path) -> None:
    first, how = command(file, "run", fails=True)
    assert how == ["forked", "True", "0"]
    assert first == command(file, "run")[0]


def test_a_library_is_the_same_either_way(file: Path) -> None:
    made = file.with_suffix(".so")
    words = ("build", "-o", str(made))
    assert command(file, *words)[1] == ["forked", "False", "0"]
    ahead = made.read_bytes()
    for entry in (file.parent / "cache").iterdir():
        entry.rename(file.parent / entry.name)
    assert command(file, *words, fails=True)[1] == ["forked", "True", "0"]
    assert made.read_bytes() == ahead


def test_a_wrong_program_ends_both(file: Path) -> None:
    file.write_text(PROGRAM.replace("axis=1", "axis=2"))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, "works", "run", file],
        env=os.environ | {"KINA_CACHE": str(file.parent / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["forked", "False", "1"]
    assert "axis=2 is out of range" in done.stderr


@pytest.mark.parametrize("command", ["run", "build", "bench"])
def test_a_program_that_changed_after_the_cache_is_compiled(
    command: str, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = file.parent / "cache"
    monkeypatch.setenv("KINA_CACHE", str(cache))
    cache.mkdir()
    assert will_compile([command, str(file)])  # nothing is in there
    (cache / "entry").mkdir()
    os.utime(file, ns=(0, 0))
    assert not will_compile([command, str(file)])
    later = cache.stat().st_mtime_ns + 1_000_000
    os.utime(file, ns=(later, later))
    assert will_compile([command, str(file), "--size", "B=2"])


@pytest.mark.parametrize("words", [[], ["run"], ["--help"], ["run", "-"], ["run", "no.kina"]])
def test_other_words_compile_nothing(words: list[str]) -> None:
    assert not will_compile(words)


def test_dtypes_stay_themselves_on_the_way() -> None:
    assert all(pickle.loads(pickle.dumps(dtype)) is dtype for dtype in DTYPES.values())
