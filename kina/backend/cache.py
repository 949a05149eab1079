"""The cache of compiled programs: one folder per key, written atomically, checked when read.

A key covers everything that can change the result: the source and its name (messages quote it),
Kina's own files, the tools, the options, and for native code the CPU. An entry that fails its
check is built again. Where no home folder can be written, a private folder below the system's
temporary one serves.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from kina.backend import metadata, targets
from kina.backend.metadata import Compiled, CompiledFunction
from kina.backend.options import Options
from kina.backend.toolchain import TOOLS, identity
from kina.errors import Diagnostic, KinaError, KinaValueError, Note

IR, META = "kina.mlir", "meta.json"
_PACKAGE = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class Artifact:
    """A compiled program in the cache."""

    folder: Path
    functions: tuple[CompiledFunction, ...]
    library: Path
    """The shared library, or what else was asked for."""
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def kina_ir(self) -> Path:
        """The kina IR with locations, for the reference."""
        return self.folder / IR


def key(name: str, text: str, options: Options) -> str:
    """The name of the entry for this source and these options."""
    parts = [
        name,
        text,
        options.target,
        str(options.threads),
        str(options.fast),
        options.prefix,
        " ".join(options.functions),
        options.product.value,
        options.soname,
        targets.host_cpu() if options.target == "native" else targets.host_machine(),
        kina_identity(),
        *(identity(tool) for tool in TOOLS),
    ]
    return hashlib.sha256(json.dumps(parts).encode("utf-8", "surrogatepass")).hexdigest()[:40]


@lru_cache
def kina_identity() -> str:
    """What changes whenever Kina's own code does, editable installs included."""
    digest = hashlib.sha256(str(metadata.FORMAT).encode())
    for path in sorted(path for kind in ("*.py", "*.[ch]") for path in _PACKAGE.rglob(kind)):
        status = path.stat()
        digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def folder() -> Path:
    """The cache's folder, made if need be: `KINA_CACHE`, else below the user's cache folder.

    Raises `KinaValueError` if `KINA_CACHE` is set and cannot be written.
    """
    chosen = os.environ.get("KINA_CACHE")
    if chosen:
        path = Path(chosen)
        if (problem := _unusable(path)) is not None:
            note = Note("set KINA_CACHE to a folder that can be written, or unset it")
            raise KinaValueError(Diagnostic(f"KINA_CACHE: {path}: {problem}", notes=(note,)))
        return path
    home = _home_cache()
    if home is not None and _unusable(home) is None:
        return home
    return _private_temporary()


def _home_cache() -> Path | None:
    base = os.environ.get("XDG_CACHE_HOME")
    if base and Path(base).is_absolute():
        return Path(base, "kina")
    try:
        return Path.home() / ".cache" / "kina"
    except RuntimeError:
        return None


def _unusable(path: Path) -> str | None:
    """Why files cannot be made in `path`; None if they can."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return error.strerror or str(error)
    return None if os.access(path, os.W_OK | os.X_OK) else "permission denied"


def _private_temporary() -> Path:
    import tempfile

    path = Path(tempfile.gettempdir(), f"kina-cache-{os.getuid()}")
    with contextlib.suppress(FileExistsError):
        path.mkdir(mode=0o700)
    status = path.lstat()
    ours = status.st_uid == os.getuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    # Somebody else's folder of that name could hand us a library of theirs.
    if not stat.S_ISDIR(status.st_mode) or not ours:
        return Path(tempfile.mkdtemp(prefix="kina-cache-"))
    return path


def lookup(name: str) -> Artifact | None:
    """The entry called `name`, if it is there and whole; `KINA_CACHE` may be read-only for that."""
    chosen = os.environ.get("KINA_CACHE")
    return _read((Path(chosen) if chosen else folder()) / name)


def store(name: str, write: Callable[[Path], Compiled]) -> Artifact:
    """The entry called `name`, made by `write` into a fresh folder.

    Two processes may make one entry at once: each builds its own, the first to finish names it.
    """
    root = folder()
    with _staging(root) as staging:
        _write_meta(staging, write(staging))
        final = root / name
        _publish(staging, final)
    entry = _read(final)
    if entry is None:
        raise KinaError(f"{final}: the compiled program cannot be read back; is the disk full?")
    return entry


@contextlib.contextmanager
def _staging(root: Path) -> Generator[Path]:
    import shutil
    import tempfile

    try:
        path = Path(tempfile.mkdtemp(prefix="tmp-", dir=root))
    except OSError as error:
        raise KinaError(f"{root}: {error.strerror}") from None
    try:
        yield path
    except OSError as error:
        raise KinaError(f"{error.filename or root}: {error.strerror or error}") from None
    finally:
        shutil.rmtree(path, ignore_errors=True)


def _publish(staging: Path, final: Path) -> None:
    """Give `staging` the name `final`; a broken entry of that name makes room."""
    for _ in range(3):
        try:
            staging.rename(final)
        except OSError:
            if _read(final) is not None:
                return
            with _staging(final.parent) as grave, contextlib.suppress(OSError):
                final.rename(grave / "broken")
        else:
            return


def _write_meta(entry: Path, compiled: Compiled) -> None:
    data = {
        "format": metadata.FORMAT,
        "files": {path.name: _digest(path) for path in entry.iterdir()},
        **metadata.to_json(compiled),
    }
    (entry / META).write_text(json.dumps(data), encoding="utf-8")


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _read(entry: Path) -> Artifact | None:
    try:
        data = cast("Mapping[str, Any]", json.loads((entry / META).read_bytes()))
        whole = all(_digest(entry / name) == digest for name, digest in data["files"].items())
        (library,) = data["files"].keys() - {IR}
        compiled = metadata.from_json(data)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    if not whole or data["format"] != metadata.FORMAT:
        return None
    return Artifact(entry, compiled.functions, entry / library, compiled.warnings)
