"""Where the cache of compiled programs is: `KINA_CACHE`, else the user's, else a temporary one.

Where no home folder can be written, or where nothing in it may be executed, a private folder below
the system's temporary one serves.
"""

from __future__ import annotations

import contextlib
import os
import stat
from functools import lru_cache
from pathlib import Path

from kina.errors import Diagnostic, KinaValueError, Note

_NOEXEC = "mounted noexec, so the libraries there cannot be loaded"


def folder() -> Path:
    """The cache's folder, made if need be.

    Raises `KinaValueError` if `KINA_CACHE` is set and cannot be written.
    """
    chosen = os.environ.get("KINA_CACHE")
    if chosen:
        path = Path(chosen)
        if (problem := _unwritable(path)) is not None:
            note = Note("set KINA_CACHE to a folder that can be written, or unset it")
            raise KinaValueError(Diagnostic(f"KINA_CACHE: {path}: {problem}", notes=(note,)))
        return path
    home = _home_cache()
    if home is not None and _unwritable(home) is None and not _is_noexec(home):
        return home
    return _private_temporary()


def for_reading() -> Path:
    """The folder to look into: `KINA_CACHE` may be read-only for that."""
    chosen = os.environ.get("KINA_CACHE")
    return Path(chosen) if chosen else folder()


def check_loadable() -> None:
    """Raises `KinaValueError` if libraries in the cache can only be copied, not loaded."""
    path = for_reading()
    if _is_noexec(path):
        variable = "KINA_CACHE" if os.environ.get("KINA_CACHE") else "the cache"
        note = Note("set KINA_CACHE to a folder on a file system that is mounted without noexec")
        raise KinaValueError(Diagnostic(f"{variable}: {path}: {_NOEXEC}", notes=(note,)))


def _home_cache() -> Path | None:
    base = os.environ.get("XDG_CACHE_HOME")
    if base and Path(base).is_absolute():
        return Path(base, "kina")
    try:
        return Path.home() / ".cache" / "kina"
    except RuntimeError:
        return None


def _unwritable(path: Path) -> str | None:
    """Why files cannot be made in `path`; None if they can."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return error.strerror or str(error)
    return None if os.access(path, os.W_OK | os.X_OK) else "permission denied"


def _is_noexec(path: Path) -> bool:
    """Whether the file system refuses to map code; for a folder that is yet to be made, as well."""
    for place in (path, *path.parents):
        with contextlib.suppress(OSError):
            return bool(os.statvfs(place).f_flag & getattr(os, "ST_NOEXEC", 0))
    return False


def _private_temporary() -> Path:
    import tempfile

    path = Path(tempfile.gettempdir(), f"kina-cache-{os.getuid()}")
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    status = path.lstat()
    ours = status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    # Somebody else's folder of that name could hand us a library of theirs.
    if not stat.S_ISDIR(status.st_mode) or not ours:
        return _unshared(path.parent)
    return path


@lru_cache
def _unshared(parent: Path) -> Path:
    """A folder for this process alone."""
    import tempfile

    return Path(tempfile.mkdtemp(prefix="kina-cache-", dir=parent))
