"""`kina build`: a shared library and its header."""

from __future__ import annotations

import os
from pathlib import Path

from kina.backend.build import build
from kina.backend.options import Options
from kina.cli.files import check_replaceable, write
from kina.errors import KinaValueError
from kina.frontend.source import Source
from kina.runtime.header import header


def build_library(file: Path, output: Path | None, options: Options) -> None:
    """Compile `file` to `output` and write the header beside it, each at once or not at all."""
    library = output or Path(file.name).with_suffix(".so")
    _check_folder(library)
    header_path = library.with_suffix(".h")
    if header_path == library:
        raise KinaValueError(f"{library}: this is where the header goes; give the library .so")
    source = Source.read(file)
    for path in (library, header_path):
        check_replaceable(path, file)
    artifact = build(source, options)
    write(library, artifact.library.read_bytes(), 0o755)
    write(header_path, header(artifact.functions).encode(), 0o644)
    print(f"wrote {library} ({library.stat().st_size} bytes) and {header_path}")
    for function in artifact.functions:
        print(f"  {function.symbol}: {function.signature}")


def _check_folder(path: Path) -> None:
    """Raise `KinaValueError` early if `path` cannot be written."""
    if path.is_dir():
        raise KinaValueError(f"{path}: is a folder, expected the name of a file to write")
    if not path.parent.is_dir():
        raise KinaValueError(f"{path}: the folder {path.parent} does not exist")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise KinaValueError(f"{path}: cannot write to the folder {path.parent}: permission denied")
