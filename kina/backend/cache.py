"""The cache of compiled programs: one folder per key, written atomically, checked when read.

A key covers everything that can change the result: the source and its name (messages quote it),
Kina's own files, the tools, the options, and for native code the CPU. An entry that fails its
check is built again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from kina.backend import cache_folder, metadata, targets
from kina.backend.linkers import identities
from kina.backend.metadata import Compiled, CompiledFunction
from kina.backend.options import Options
from kina.backend.toolchain import TOOLS, identity
from kina.errors import Diagnostic, KinaError
from kina.frozen import frozen

IR, META = "kina.mlir", "meta.json"
_SEAL = "seal"
"""The key of the digest that `meta.json` has of itself."""
_PACKAGE = Path(__file__).parent.parent


@frozen(slots=True)
class Artifact:
    """A compiled program in the cache."""

    folder: Path
    identity: tuple[int, int]
    """What tells the folder from a later one of its name."""
    functions: tuple[CompiledFunction, ...]
    library: Path
    """The shared library, or what else was asked for."""
    warnings: tuple[Diagnostic, ...] = ()

    @property
    def kina_ir(self) -> Path:
        """The kina IR with locations, for the reference."""
        return self.folder / IR


def key(name: str, text: str, options: Options, imported: Sequence[tuple[str, str]] = ()) -> str:
    """The name of the entry for this source, what it imports, and these options.

    What is imported are names of files and their texts.
    """
    parts = [
        name,
        text,
        *(part for file in imported for part in file),
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
        *identities(options.target),
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


def lookup(name: str) -> Artifact | None:
    """The entry called `name`, if it is there and whole."""
    return _read(cache_folder.for_reading() / name)


def store(name: str, write: Callable[[Path], Compiled]) -> Artifact:
    """The entry called `name`, made by `write` into a fresh folder.

    Two processes may make one entry at once: each builds its own, the first to finish names it.
    What killed ones left behind is removed.
    """
    from kina.backend import scratch

    root = cache_folder.folder()
    scratch.sweep(root)
    scratch.sweep()
    with _staging(root) as staging:
        _write_meta(staging, write(staging))
        final = root / name
        _publish(staging, final)
    entry = _read(final)
    if entry is None:
        raise KinaError(f"{final}: the compiled program cannot be read back; is the disk full?")
    return entry


def discard(artifact: Artifact) -> None:
    """Remove an entry that does not work, unless another has taken its place meanwhile.

    Raises `KinaError` if it cannot be removed.
    """
    with contextlib.suppress(FileNotFoundError):
        if _identity(artifact.folder) != artifact.identity:
            return
        with _staging(artifact.folder.parent) as grave:
            artifact.folder.rename(grave / "broken")


@contextlib.contextmanager
def _staging(root: Path) -> Generator[Path]:
    from kina.backend import scratch

    try:
        with scratch.folder(root) as path:
            yield path
    except OSError as error:
        raise scratch.unwritable(error, root) from None


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
    from kina.backend import scratch

    data = {
        "format": metadata.FORMAT,
        "files": {path.name: _digest(path.read_bytes()) for path in entry.iterdir()},
        **metadata.to_json(compiled),
    }
    scratch.write(entry / META, json.dumps(data | {_SEAL: _seal(data)}))


def _seal(data: Mapping[str, Any]) -> str:
    """What changes with anything in `data`."""
    return _digest(json.dumps(data).encode())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _identity(entry: Path) -> tuple[int, int]:
    status = entry.stat()
    return status.st_ino, status.st_mtime_ns


def _read(entry: Path) -> Artifact | None:
    """The entry in a folder; None if there is none, or if it is not as it was written."""
    try:
        identity = _identity(entry)
        data = cast("dict[str, Any]", json.loads((entry / META).read_bytes()))
        if data.pop(_SEAL) != _seal(data) or data["format"] != metadata.FORMAT:
            return None
        files: dict[str, str] = data["files"]
        if any(_digest((entry / name).read_bytes()) != digest for name, digest in files.items()):
            return None
        (library,) = files.keys() - {IR}
        compiled = metadata.from_json(data)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    return Artifact(entry, identity, compiled.functions, entry / library, compiled.warnings)
