"""Folders of the cache: chosen, read-only, full, mounted noexec, and what killed processes left."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import kina
from helpers.cached import PROGRAM, entries, works
from kina.backend import cache_folder, scratch
from kina.backend.build import build
from kina.cli import doctor
from kina.frontend.source import Source


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cache"
    monkeypatch.setenv("KINA_CACHE", str(path))
    return path


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
    monkeypatch.setattr(cache_folder, "_unwritable", read_only)
    assert works(kina.compile(PROGRAM))
    with pytest.raises(kina.KinaValueError, match=r"KINA_CACHE: .*: permission denied"):
        kina.compile(PROGRAM + "// another")


def test_a_full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(monkeypatch, "meta.json")
    with pytest.raises(kina.KinaError, match=f"^{folder}: No space left.*\n.*set KINA_CACHE"):
        kina.compile(PROGRAM)
    assert not list(folder.iterdir())


def fill(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """The file of that name finds a full disk, at its end: such an error does not name it."""
    write = Path.write_text

    def full(path: Path, *args: Any, **named: Any) -> int:
        if path.name == name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(path, *args, **named)

    monkeypatch.setattr(Path, "write_text", full)


def test_a_full_temporary_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the cache's fault, whatever file it is that has no room."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    program = PROGRAM + " // for several levels"
    for name in ("dispatch.c", "x86-64-v2.txt"):
        with monkeypatch.context() as patch:
            fill(patch, name)
            with pytest.raises(kina.KinaError, match=f"^{tmp_path}: No space.*\n.*set TMPDIR"):
                kina.compile(program, target="x86-64")
    assert not list(folder.iterdir())
    assert list(tmp_path.iterdir()) == [folder]


def test_a_cache_mounted_noexec(
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The home's is passed over, as a read-only one; a chosen one is an error before compiling."""
    noexec = tmp_path / "noexec"
    noexec.mkdir()
    find = os.statvfs

    def mounted(path: Path) -> Any:
        flags = os.ST_NOEXEC if noexec in (path, *path.parents) else 0
        return SimpleNamespace(f_flag=find(path).f_flag & ~os.ST_NOEXEC | flags)

    monkeypatch.setattr(os, "statvfs", mounted)
    for chosen in (noexec, noexec / "not" / "yet"):
        monkeypatch.setenv("KINA_CACHE", str(chosen))
        with pytest.raises(kina.KinaValueError, match=f"_CACHE: {chosen}: mounted noexec.*\n.*set"):
            kina.compile(PROGRAM)
        assert not list(noexec.iterdir())
    assert doctor.report() == 1
    assert f"cache: error: KINA_CACHE: {chosen}: mounted noexec" in capsys.readouterr().out
    # To copy a library from there is all right.
    assert build(Source("a.kina", PROGRAM)).library.is_relative_to(chosen)
    monkeypatch.delenv("KINA_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(noexec))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    module = kina.compile(PROGRAM)
    assert works(module)
    assert module.library_path.is_relative_to(tmp_path / f"kina-cache-{os.getuid()}")
    monkeypatch.setattr(tempfile, "tempdir", str(noexec))
    with pytest.raises(kina.KinaValueError, match=r"the cache: .*: mounted noexec.*\n.*KINA_CACHE"):
        kina.compile(PROGRAM)


WORKER = """\
import sys, time
from pathlib import Path
from kina.backend import scratch

with scratch.folder(Path(sys.argv[1])) as path:
    print(path, flush=True)
    time.sleep(600)
"""


def test_only_what_killed_processes_left_is_removed(folder: Path) -> None:
    folder.mkdir()
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(folder)], stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    try:
        paths = [Path((worker.stdout or sys.stdin).readline().rstrip()) for worker in workers]
        running, old, young = paths
        for worker in workers[1:]:
            worker.kill()
            worker.wait()
        mine = folder / "tmp-mine"
        mine.mkdir()
        file = folder / "tmp-12345678"
        file.write_text("")
        for path in (running, old, mine, file):
            age(path, hours=2)
        kina.compile(PROGRAM)
        (entry,) = entries(folder)
        assert set(folder.iterdir()) == {running, young, mine, file, entry}
    finally:
        for worker in workers:
            worker.kill()
            worker.communicate()


def age(path: Path, hours: int) -> None:
    then = time.time() - hours * 3600 - 60
    os.utime(path, (then, then))


def test_where_there_are_no_locks_a_day_must_pass(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unsupported(*_: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(scratch.fcntl, "flock", unsupported)
    old, older = folder / "tmp-abcdefgh", folder / "tmp-12345678"
    for path, hours in ((old, 2), (older, 24)):
        path.mkdir(parents=True)
        age(path, hours)
    kina.compile(PROGRAM)
    assert old.is_dir()
    assert not older.exists()


def test_leftovers_in_the_temporary_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    left, others = tmp_path / "kina-compile-abcdefgh", tmp_path / "kina-examples"
    for path in (left, others):
        path.mkdir()
        age(path, hours=2)
    kina.compile(PROGRAM)
    assert set(tmp_path.iterdir()) == {others, folder}


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
    assert cache_folder.folder() != planted


def test_xdg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KINA_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder.folder() == tmp_path / "xdg" / "kina"


def test_read_only_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_writing: None) -> None:
    monkeypatch.delenv("KINA_CACHE")
    home = tmp_path / "home"
    home.mkdir(mode=0o500)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    assert home not in cache_folder.folder().parents
