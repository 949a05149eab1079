"""`kina build`: a library or an object file, its header, and a file for pkg-config."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

from kina.backend.build import build
from kina.backend.options import Options, Product
from kina.cli.files import check_replaceable, check_writable, write
from kina.cli.pkg_config import pkg_config_file
from kina.cli.programs import is_stdin, read_program
from kina.cli.progress import compiling
from kina.cli.warning import WarningMode, show
from kina.errors import Diagnostic, KinaValueError, Note
from kina.runtime.header import header

_PRODUCTS = {".so": Product.SHARED, ".a": Product.ARCHIVE, ".o": Product.OBJECT}
if sys.platform == "darwin":
    _PRODUCTS[".dylib"] = Product.SHARED


@dataclass(frozen=True, slots=True)
class _Output:
    """The files to write."""

    library: Path
    product: Product
    header: Path
    pkg_config: Path | None

    @classmethod
    def of(cls, library: Path, program: Path | None, pkg_config: bool) -> _Output:
        """What the name of a library says.

        Raises `KinaValueError` if it says nothing, or if something cannot be written.
        """
        check_writable(library)
        check_replaceable(library, program)
        if library.suffix == ".h":
            raise KinaValueError(f"{library}: this is where the header goes; give the library .so")
        # A shared library may have a version behind its suffix: libx.so.1.2
        plain = library.with_name(library.name.rstrip("0123456789.") or library.name)
        path = plain if plain.suffix == ".so" else library
        product = _PRODUCTS.get(path.suffix)
        if product is None:
            note = Note("expected .so (shared library), .a (static library) or .o (object file)")
            message = f"{library}: the name does not say what to write"
            raise KinaValueError(Diagnostic(message, notes=(note,)))
        if product is not Product.SHARED and not sys.platform.startswith("linux"):
            note = Note("give the library .so")
            message = f"{library}: static libraries and object files are made on Linux only"
            raise KinaValueError(Diagnostic(message, notes=(note,)))
        beside = [path.with_suffix(suffix) for suffix in (".h", ".pc")[: 1 + pkg_config]]
        for other in beside:
            check_replaceable(other, program)
        return cls(library, product, beside[0], beside[1] if pkg_config else None)


def build_library(
    file: Path,
    output: Path | None,
    options: Options,
    warned: WarningMode,
    *,
    pkg_config: bool = False,
) -> None:
    """Compile `file` to `output` and write the header beside it, each at once or not at all."""
    if output is None and is_stdin(file):
        raise KinaValueError("a program from the standard input has no name: give -o LIBRARY.so")
    source = read_program(file)
    program = None if is_stdin(file) else file
    files = _Output.of(output or Path(file.name).with_suffix(".so"), program, pkg_config)
    described = pkg_config_file(files.library, files.product) if files.pkg_config else ""
    soname = files.library.name if files.product is Product.SHARED else ""
    options = replace(options, product=files.product, soname=soname)
    with compiling(file) as activity:
        artifact = build(source, options, activity=activity)
    show(artifact.warnings, warned)
    mode = 0o755 if files.product is Product.SHARED else 0o644
    write(files.library, artifact.library.read_bytes(), mode)
    write(files.header, header(artifact.functions).encode(), 0o644)
    if files.pkg_config is not None:
        write(files.pkg_config, described.encode(), 0o644)
    others = " and ".join(str(path) for path in (files.header, files.pkg_config) if path)
    print(f"wrote {files.library} ({files.library.stat().st_size} bytes) and {others}")
    for function in artifact.functions:
        print(f"  {function.c_name}: {function.signature}")
