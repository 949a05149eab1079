"""The cache of compiled programs: keys, corruption, read-only homes, two processes at once."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import kina
from kina.backend import cache, toolchain
from kina.backend.options import Options

PROGRAM = "let f = fn(x: tensor<F32, [3]>) -> tensor<F32, [3]> { x + x }"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cache"
    monkeypatch.setenv("KINA_CACHE", str(path))
    return path


def works(module: kina.Module) -> bool:
    return np.array_equal(module["f"](np.ones(3, np.float32)), [2, 2, 2])


def entries(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("tmp-"))


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


def truncate(entry: Path) -> None:
    (entry / "lib.so").write_bytes((entry / "lib.so").read_bytes()[:100])


def garble(entry: Path) -> None:
    (entry / "meta.json").write_text("{")


def forget(entry: Path) -> None:
    (entry / "kina.mlir").unlink()


def empty(entry: Path) -> None:
    for path in entry.iterdir():
        path.unlink()


def other_format(entry: Path) -> None:
    meta = entry / "meta.json"
    meta.write_text(meta.read_text().replace('"format": 1', '"format": 0'))


@pytest.mark.parametrize("damage", [truncate, garble, forget, empty, other_format])
def test_damaged_entries_are_rebuilt(folder: Path, damage: Callable[[Path], None]) -> None:
    # In another process: a library must not change while it is loaded.
    subprocess.run([sys.executable, "-c", f"import kina; kina.compile({PROGRAM!r})"], check=True)
    (entry,) = entries(folder)
    damage(entry)
    assert works(kina.compile(PROGRAM))
    assert entries(folder) == [entry]
    assert cache.lookup(entry.name) is not None


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


@pytest.fixture
def no_writing() -> None:
    """Root may write anywhere."""
    if os.geteuid() == 0:
        pytest.skip("root can write to read-only folders")


def test_unusable_chosen_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("KINA_CACHE", str(blocked / "cache"))
    with pytest.raises(kina.KinaValueError, match=r"KINA_CACHE: .*Not a directory"):
        kina.compile(PROGRAM)


def test_a_read_only_folder_serves_what_it_holds(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container's image may come with it."""

    def read_only(_: Path) -> str:
        return "permission denied"

    kina.compile(PROGRAM)
    monkeypatch.setattr(cache, "_unusable", read_only)
    assert works(kina.compile(PROGRAM))
    with pytest.raises(kina.KinaValueError, match=r"KINA_CACHE: .*: permission denied"):
        kina.compile(PROGRAM + "// another")


def test_a_full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(cache, "_write_meta", full)
    with pytest.raises(kina.KinaError, match=f"{folder}: No space left"):
        kina.compile(PROGRAM)
    assert not list(folder.iterdir())


@pytest.mark.parametrize("home", ["missing", "blocked"])
def test_unusable_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    """A private folder below the temporary one serves."""
    (tmp_path / "blocked").write_text("")
    monkeypatch.delenv("KINA_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "blocked" / home))
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    module = kina.compile(PROGRAM)
    assert works(module)
    assert temporary in module.library_path.parents
    assert (temporary / f"kina-cache-{os.getuid()}").stat().st_mode & 0o077 == 0


def test_another_users_temporary_folder_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others could put a library of theirs there."""
    monkeypatch.delenv("KINA_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    (tmp_path / "blocked").write_text("")
    monkeypatch.setenv("HOME", str(tmp_path / "blocked"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    planted = tmp_path / f"kina-cache-{os.getuid()}"
    planted.mkdir()
    planted.chmod(0o777)
    assert cache.folder() != planted


def test_xdg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KINA_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder() == tmp_path / "xdg" / "kina"


def test_read_only_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_writing: None) -> None:
    monkeypatch.delenv("KINA_CACHE")
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    assert home not in cache.folder().parents
