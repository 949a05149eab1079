"""Writes files that others may be reading, each at once or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from kina.errors import KinaValueError


def check_replaceable(path: Path, program: Path | None = None) -> None:
    """Raise `KinaValueError` if something is in the place of `path` that must stay there."""
    if not path.exists():
        return
    if not path.is_file():
        raise KinaValueError(f"{path}: is not a regular file, and only such are replaced")
    if program is not None and path.samefile(program):
        raise KinaValueError(f"{path}: is the program itself, give another name for the output")


def check_writable(path: Path) -> None:
    """Raise `KinaValueError` early if `path` cannot be written."""
    if path.is_dir():
        raise KinaValueError(f"{path}: is a folder, expected the name of a file to write")
    if not path.parent.is_dir():
        raise KinaValueError(f"{path}: the folder {path.parent} does not exist")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise KinaValueError(f"{path}: cannot write to the folder {path.parent}: permission denied")


def write(path: Path, data: bytes, mode: int) -> None:
    """Write a file under a temporary name, then rename it, so that no half of it is ever seen."""
    check_replaceable(path)
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=".kina-", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(mode & ~umask)
        Path(temporary).replace(path)
    except OSError as error:
        if temporary is not None:
            Path(temporary).unlink(missing_ok=True)
        raise KinaValueError(f"{path}: cannot write the file: {error.strerror}") from None
