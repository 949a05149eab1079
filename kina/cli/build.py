"""`kina build`: a library or an object file, its header, and a file for pkg-config."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kina.backend.build import build
from kina.backend.options import Options, Product
from kina.backend.targets import MACOS, System, single_targets
from kina.cli.companions import COMPANIONS, Built, place, wanted
from kina.cli.files import check_replaceable, check_writable, write
from kina.cli.npm import PACKAGE, package_file
from kina.cli.pkg_config import pkg_config_file
from kina.cli.programs import is_stdin, read_program
from kina.cli.progress import compiling
from kina.cli.warning import WarningMode, show
from kina.errors import Diagnostic, KinaValueError, Note
from kina.frozen import frozen

_STATIC = {".a": Product.ARCHIVE, ".o": Product.OBJECT}
_MEANT = {".so": "shared library", ".a": "static library", ".o": "object file"}
# Python and others look for .so on macOS as well.
_ALSO = {MACOS: (".so",)}


@frozen(slots=True)
class _Output:
    """The files to write."""

    library: Path
    product: Product
    beside: dict[str, Path]
    """The header, and what else goes with it, by its kind."""

    @classmethod
    def of(
        cls, library: Path, program: Path | None, system: System, kinds: Sequence[str]
    ) -> _Output:
        """What the name of a library for a system says.

        Raises `KinaValueError` if it says nothing, or if something cannot be written.
        """
        check_writable(library)
        check_replaceable(library, program)
        if library.suffix == ".h":
            message = f"{library}: this is where the header goes; give the library {system.suffix}"
            raise KinaValueError(message)
        # A shared library may have a version behind its suffix: libx.so.1.2
        plain = library.with_name(library.name.rstrip("0123456789.") or library.name)
        path = plain if plain.suffix == ".so" else library
        product = _product(library, path.suffix, system)
        beside = {kind: place(path, kind) for kind in kinds}
        for other in beside.values():
            check_replaceable(other, program)
        if ".pc" in beside:
            pkg_config_file(library, product)
        if PACKAGE in beside:
            package_file(library)
        return cls(library, product, beside)


def _product(library: Path, suffix: str, system: System) -> Product:
    """What to make for a file of this name; `suffix` is its own without a version."""
    made = {each: Product.SHARED for each in (system.suffix, *_ALSO.get(system.name, ()))}
    made |= _STATIC if system.is_static else {}
    if suffix in made:
        return made[suffix]
    listed = [f"{each} ({_MEANT.get(each, 'shared library')})" for each in made]
    note = Note(f"expected {' or '.join(listed)} for {system.name}")
    if suffix in _STATIC:
        message = f"{library}: static libraries and object files are made for Linux only"
    else:
        message = f"{library}: the name does not say what to write"
    raise KinaValueError(Diagnostic(message, notes=(note,)))


def build_library(
    file: Path,
    output: Path | None,
    options: Options,
    warned: WarningMode,
    *,
    pkg_config: bool = False,
    npm: bool = False,
) -> None:
    """Compile `file` to `output` and write the header beside it, each at once or not at all."""
    system = single_targets(options.target)[0].system
    if output is None and is_stdin(file):
        message = "a program from the standard input has no name: give -o LIBRARY"
        raise KinaValueError(f"{message}{system.suffix}")
    source = read_program(file)
    program = None if is_stdin(file) else file
    path = output or Path(file.name).with_suffix(system.suffix)
    kinds = wanted(system, pkg_config=pkg_config, npm=npm)
    files = _Output.of(path, program, system, kinds)
    soname = files.library.name if files.product is Product.SHARED else ""
    options = replace(options, product=files.product, soname=soname)
    with compiling(file) as activity:
        artifact = build(source, options, activity=activity)
    show(artifact.warnings, warned)
    mode = 0o755 if files.product is Product.SHARED else 0o644
    write(files.library, artifact.library.read_bytes(), mode)
    built = Built(files.library, files.product, artifact.functions, source)
    for kind, other in files.beside.items():
        text = COMPANIONS[kind](built)
        write(other, text.encode() if isinstance(text, str) else text, 0o644)
    others = " and ".join(map(str, files.beside.values()))
    print(f"wrote {files.library} ({files.library.stat().st_size} bytes) and {others}")
    for function in artifact.functions:
        print(f"  {function.c_name}: {function.signature}")
