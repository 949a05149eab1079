"""The cache of compiled programs: keys, and two processes at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import kina
from helpers.cached import PROGRAM, entries, works
from kina.backend import cache, toolchain
from kina.backend.options import Options


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cache"
    monkeypatch.setenv("KINA_CACHE", str(path))
    return path


def test_a_program_is_compiled_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert works(kina.compile(PROGRAM))
    (entry,) = entries(folder)
    assert {path.name for path in entry.iterdir()} == {"lib.so", "kina.mlir", "meta.json"}

    def refuse(*_: object, **_options: object) -> str:
        raise AssertionError("a tool was run")

    monkeypatch.setattr(toolchain.subprocess, "Popen", refuse)
    assert works(kina.compile(PROGRAM))
    assert entries(folder) == [entry]


def test_no_leftovers(folder: Path) -> None:
    kina.compile(PROGRAM)
    with pytest.raises(kina.KinaSyntaxError):
        kina.compile("let")
    assert len(list(folder.iterdir())) == 1


BASE = ("a.kina", PROGRAM, Options())
OTHERS = {
    "name": ("b.kina", PROGRAM, Options()),
    "text": ("a.kina", PROGRAM + " ", Options()),
    "target": ("a.kina", PROGRAM, Options(target="x86-64-v2")),
    "threads": ("a.kina", PROGRAM, Options(threads=False)),
    "prefix": ("a.kina", PROGRAM, Options(prefix="p_")),
}


@pytest.mark.parametrize("what", list(OTHERS))
def test_key_covers(what: str) -> None:
    assert cache.key(*BASE) == cache.key(*BASE)
    assert cache.key(*OTHERS[what]) != cache.key(*BASE)


def test_key_covers_the_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = cache.key(*BASE)
    other = tmp_path / "cc"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    monkeypatch.setenv("KINA_CC", str(other))
    assert cache.key(*BASE) != before


def test_key_covers_the_cpu_of_native_code_only(monkeypatch: pytest.MonkeyPatch) -> None:
    generic = ("a.kina", PROGRAM, Options(target="x86-64-v3"))
    before = cache.key(*BASE), cache.key(*generic)
    monkeypatch.setattr(cache.targets, "host_cpu", lambda: "another CPU")
    assert cache.key(*BASE) != before[0]
    assert cache.key(*generic) == before[1]


def test_two_processes_at_once(folder: Path) -> None:
    script = f"import kina; print(kina.compile({PROGRAM!r}).library_path)"
    processes = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    paths = {process.communicate()[0] for process in processes}
    assert [process.returncode for process in processes] == [0, 0, 0]
    assert len(paths) == 1
    assert len(list(folder.iterdir())) == 1
