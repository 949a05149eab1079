"""Entries of the cache that are not as they were written, and libraries that do not load."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from ctypes.util import find_library
from pathlib import Path

import numpy as np
import pytest

import kina
from helpers.cached import PROGRAM, entries, works
from kina.backend import cache, cache_folder, metadata
from kina.backend.build import build
from kina.backend.metadata import Compiled
from kina.backend.options import Options
from kina.frontend.source import Source


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cache"
    monkeypatch.setenv("KINA_CACHE", str(path))
    return path


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
