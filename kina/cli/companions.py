"""What goes beside a library: its header, and files for those who link, import or publish it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kina.backend.import_library import import_library
from kina.backend.metadata import CompiledFunction
from kina.backend.options import Product
from kina.backend.targets import WASM, WINDOWS, System
from kina.cli.npm import PACKAGE, package_file
from kina.cli.pkg_config import pkg_config_file
from kina.errors import Diagnostic, KinaValueError, Note
from kina.frontend.imports import link
from kina.frontend.source import Source
from kina.frozen import frozen
from kina.runtime.es_module import es_module, typescript
from kina.runtime.header import header


@frozen(slots=True)
class Built:
    """A library that was compiled."""

    library: Path
    product: Product
    functions: Sequence[CompiledFunction]
    source: Source


def _header(built: Built) -> str:
    return header(built.functions)


def _module(built: Built) -> str:
    return es_module(built.library.name, built.functions, link(built.source))


def _types(built: Built) -> str:
    return typescript(built.functions)


def _pkg_config(built: Built) -> str:
    return pkg_config_file(built.library, built.product)


def _package(built: Built) -> str:
    return package_file(built.library)


def _import_library(built: Built) -> bytes:
    return import_library(built.library.name, [each.symbol for each in built.functions])


COMPANIONS: Mapping[str, Callable[[Built], str | bytes]] = {
    ".h": _header,
    ".lib": _import_library,
    ".mjs": _module,
    ".d.mts": _types,
    ".pc": _pkg_config,
    PACKAGE: _package,
}
"""By the suffix of the file, or by its name."""
_OF_SYSTEM = {WINDOWS: (".lib",), WASM: (".mjs", ".d.mts")}


def wanted(system: System, *, pkg_config: bool, npm: bool) -> tuple[str, ...]:
    """Which there are; raises `KinaValueError` for one that a system has no use for."""
    if npm and system.name != WASM:
        note = Note("give --target wasm32")
        message = "--npm: only WebAssembly is published there"
        raise KinaValueError(Diagnostic(message, notes=(note,)))
    if pkg_config and system.name == WASM:
        raise KinaValueError("--pkg-config: WebAssembly is linked with nothing")
    more = _OF_SYSTEM.get(system.name, ())
    return (".h", *more, *([".pc"] * pkg_config), *([PACKAGE] * npm))


def place(library: Path, which: str) -> Path:
    """Where a companion goes; `library` has no version behind its suffix."""
    return library.with_suffix(which) if which.startswith(".") else library.with_name(which)
