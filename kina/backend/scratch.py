"""Folders for the files of one compilation, and what to say when one cannot be written.

A process that is killed leaves its folders behind, but not its locks on them: `sweep` removes
those that nobody holds any more, never one that somebody works in.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import Generator
from enum import Enum, auto
from pathlib import Path

from kina.errors import Diagnostic, KinaError, Note

STAGING, TEMPORARY = "tmp-", "kina-compile-"
"""How folders in the cache and in the system's temporary folder are called."""
_RANDOM = 8
"""Characters that `mkdtemp` adds."""
_HOUR, _DAY = 3600, 24 * 3600


class _Lock(Enum):
    """What became of an attempt to lock a folder."""

    OURS = auto()
    OTHERS = auto()
    UNKNOWN = auto()
    """The file system has no locks."""


@contextlib.contextmanager
def folder(root: Path | None = None) -> Generator[Path]:
    """A fresh folder in `root`, or else in the system's temporary one; removed in the end."""
    prefix = TEMPORARY if root is None else STAGING
    path = Path(tempfile.mkdtemp(prefix=prefix, dir=root))
    with _locked(path):
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _locked(path: Path) -> Generator[_Lock]:
    """Try to lock a folder; the lock ends with the process, whatever ends that."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock = _Lock.OTHERS
        except OSError:
            lock = _Lock.UNKNOWN
        else:
            lock = _Lock.OURS
        yield lock
    finally:
        os.close(handle)


def sweep(root: Path | None = None) -> None:
    """Remove the folders that killed processes of this user left in `root` (as in `folder`).

    They are an hour old and not locked; a day where there are no locks.
    """
    prefix = TEMPORARY if root is None else STAGING
    with contextlib.suppress(OSError):
        for name in os.listdir(root or tempfile.gettempdir()):
            if name.startswith(prefix) and len(name) == len(prefix) + _RANDOM:
                _remove_abandoned(Path(root or tempfile.gettempdir(), name))


def _remove_abandoned(path: Path) -> None:
    with contextlib.suppress(OSError):
        status = path.lstat()
        age = time.time() - status.st_mtime
        ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
        if not ours or age < _HOUR:
            return
        with _locked(path) as lock:
            if lock is _Lock.OURS or (lock is _Lock.UNKNOWN and age > _DAY):
                shutil.rmtree(path, ignore_errors=True)


def write(path: Path, text: str) -> None:
    """Write a file; the error names it, which that of a disk that fills up does not by itself."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        error.filename = error.filename or str(path)
        raise


def unwritable(error: OSError, cache: Path | None = None) -> KinaError:
    """The error to raise for one of the system's while compiling: which folder, and what moves it.

    Files below `cache` belong there; all others are temporary.
    """
    names = [str(name) for name in (error.filename, error.filename2) if name is not None]
    if cache is not None and any(Path(name).is_relative_to(cache) for name in names):
        place, variable, purpose = str(cache), "KINA_CACHE", "the cache of compiled programs"
    else:
        place, variable, purpose = _temporary(), "TMPDIR", "temporary files"
    help_ = f"{purpose}: make room there, or set {variable} to a folder that has room"
    message = f"{place}: {error.strerror or error}"
    return KinaError(Diagnostic(message, notes=(Note(help_),)))


def _temporary() -> str:
    try:
        return tempfile.gettempdir()
    except OSError:
        return "no temporary folder"
