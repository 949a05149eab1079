"""The file that tells pkg-config how to use a built library."""

from __future__ import annotations

import re
from pathlib import Path

import kina
from kina.backend.options import Product
from kina.errors import Diagnostic, KinaValueError, Note

# pcfiledir is the folder of the file itself, so library, header and file move together.
_TEXT = """\
# Written by kina build; edits will be lost.
libdir=${{pcfiledir}}

Name: {name}
Description: Functions compiled by Kina
Version: {version}
Cflags: -I${{libdir}}
Libs: -L${{libdir}} -l{library}{more}
"""
_MORE = {Product.SHARED: " -Wl,-rpath,${libdir}", Product.ARCHIVE: " -pthread"}


def pkg_config_file(library: Path, product: Product) -> str:
    """The text of the file for a library.

    Raises `KinaValueError` for an object file, and for a name that pkg-config would take apart.
    """
    if product is Product.OBJECT:
        message = f"{library}: pkg-config knows libraries, and this is an object file"
        raise KinaValueError(Diagnostic(message, notes=(Note("give the library .so or .a"),)))
    name = library.name
    if not re.fullmatch(r"[A-Za-z0-9._+-]+", name):
        note = Note("letters, digits and . _ + - will do")
        message = f"{library}: pkg-config cannot use a library of this name"
        raise KinaValueError(Diagnostic(message, notes=(note,)))
    return _TEXT.format(
        name=library.stem,
        version=kina.__version__,
        library=_for_linker(name),
        more=_MORE[product],
    )


def _for_linker(name: str) -> str:
    """The library behind `-l`: a static one by its file, for a shared one may lie beside it."""
    short = re.fullmatch(r"lib(.+)\.(so|dylib)", name)
    return short[1] if short else f":{name}"
