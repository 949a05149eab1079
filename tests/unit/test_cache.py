"""The cache of compiled programs: keys, corruption, read-only homes, two processes at once."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from ctypes.util import find_library
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import kina
from kina.backend import cache, cache_folder, metadata, scratch, toolchain
from kina.backend.build import build
from kina.backend.metadata import Compiled
from kina.backend.options import Options
from kina.cli import doctor
from kina.frontend.source import Source

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
    reseal(meta, {"format": metadata.FORMAT - 1})


def reseal(meta: Path, changes: dict[str, object]) -> None:
    """A whole `meta.json` with other contents."""
    data = json.loads(meta.read_text()) | changes
    del data[cache._SEAL]
    meta.write_text(json.dumps(data | {cache._SEAL: cache._seal(data)}))


def no_format(entry: Path) -> None:
    meta = entry / "meta.json"
    data = json.loads(meta.read_text())
    del data["format"], data[cache._SEAL]
    meta.write_text(json.dumps(data | {cache._SEAL: cache._seal(data)}))


def nested(entry: Path) -> None:
    (entry / "meta.json").write_text("[" * 100_000 + "]" * 100_000)


def a_list(entry: Path) -> None:
    (entry / "meta.json").write_text("[1, 2]")


def no_text(entry: Path) -> None:
    (entry / "meta.json").write_bytes(b"\xff\xfe")


def other_symbol(entry: Path) -> None:
    """What can still be read, and is not what was written."""
    meta = entry / "meta.json"
    text = meta.read_text()
    assert text.count('"symbol": "') == 1
    meta.write_text(text.replace('"symbol": "', '"symbol": "another_'))


def other_types(entry: Path) -> None:
    reseal(entry / "meta.json", {"functions": {"f": 1}, "warnings": [3]})


def foreign(entry: Path) -> None:
    """A whole entry whose library is none."""
    replaced(entry, b"\x7fELF for another machine")


def another_library(entry: Path) -> None:
    """It loads, and has other functions."""
    found = find_library("m")
    assert found is not None
    done = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True)
    (path,) = {line.split()[-1] for line in done.stdout.splitlines() if found in line.split()}
    replaced(entry, Path(path).read_bytes())


def replaced(entry: Path, library: bytes) -> None:
    (entry / "lib.so").write_bytes(library)
    files = {name: cache._digest((entry / name).read_bytes()) for name in ("lib.so", "kina.mlir")}
    reseal(entry / "meta.json", {"files": files})


DAMAGE = [
    truncate,
    garble,
    forget,
    empty,
    other_format,
    no_format,
    nested,
    a_list,
    no_text,
    other_symbol,
    other_types,
    foreign,
    another_library,
]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache with the program, whose library was never loaded: it must not change then."""
    path = tmp_path_factory.mktemp("compiled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KINA_CACHE", str(path))
        build(Source("<string>", PROGRAM), Options())
    return path


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_entries_are_rebuilt(
    folder: Path, compiled: Path, damage: Callable[[Path], None]
) -> None:
    shutil.copytree(compiled, folder)
    (entry,) = entries(folder)
    assert cache.lookup(entry.name) is not None
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


def test_a_library_that_never_loads(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled once more, once, then said."""
    builds: list[Path] = []

    def stored(name: str, write: Callable[[Path], Compiled]) -> cache.Artifact:
        builds.append(store(name, write).folder)
        foreign(builds[-1])
        artifact = cache.lookup(name)
        assert artifact is not None
        return artifact

    store = cache.store
    monkeypatch.setattr(cache, "store", stored)
    with pytest.raises(kina.KinaValueError) as caught:
        kina.compile(PROGRAM)
    text = str(caught.value)
    assert text.startswith(f"{builds[0] / 'lib.so'}: cannot load the library: ")
    assert text.count("cannot load the library") == 1
    assert "compiling the program once more did not help" in text
    assert "KINA_CACHE" in text
    assert len(builds) == 2


def test_a_library_that_neither_loads_nor_compiles(
    folder: Path, compiled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are said."""
    shutil.copytree(compiled, folder)
    (entry,) = entries(folder)
    foreign(entry)

    def read_only(_: Path) -> str:
        return "permission denied"

    monkeypatch.setattr(cache_folder, "_unwritable", read_only)
    with pytest.raises(kina.KinaValueError, match=r"(?s)cannot load the .*permission denied"):
        kina.compile(PROGRAM)


def test_an_entry_that_was_replaced_is_not_discarded(folder: Path) -> None:
    artifact = build(Source("a.kina", PROGRAM))
    kept = folder / "kept"
    artifact.folder.rename(kept)
    newer = build(Source("a.kina", PROGRAM))
    assert newer.folder == artifact.folder
    cache.discard(artifact)
    assert newer.library.is_file()
    cache.discard(newer)
    assert list(folder.iterdir()) == [kept]


def test_the_reference_after_the_cache_was_emptied(folder: Path) -> None:
    module = kina.compile(PROGRAM)
    shutil.rmtree(folder)
    assert np.array_equal(module["f"].reference(np.ones(3, np.float32)), [2, 2, 2])


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
