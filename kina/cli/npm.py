"""The file that makes an npm package of a folder with a library for WebAssembly."""

from __future__ import annotations

import json
import re
from pathlib import Path

import kina
from kina.errors import Diagnostic, KinaValueError, Note

PACKAGE = "package.json"
_MARK = "Written by kina build; edits will be lost."


def package_file(library: Path) -> str:
    """The text of `package.json` for a library.

    Raises `KinaValueError` where there is one that somebody else wrote, and for a name that is none
    for npm.
    """
    place = library.with_name(PACKAGE)
    if place.exists() and _MARK not in place.read_text(encoding="utf-8", errors="replace"):
        note = Note("give -o a place in a folder of its own")
        message = f"{place}: is not by kina build, and is kept"
        raise KinaValueError(Diagnostic(message, notes=(note,)))
    stem = library.stem
    name = stem.lower()
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,213}", name):
        note = Note("letters, digits and . _ - will do")
        message = f"{library}: npm knows no packages of this name"
        raise KinaValueError(Diagnostic(message, notes=(note,)))
    files = {kind: f"./{stem}{kind}" for kind in (".mjs", ".d.mts", ".wasm", ".h")}
    package = {
        "//": _MARK,
        "name": name,
        "version": kina.__version__,
        "description": "Functions compiled by Kina",
        "type": "module",
        "main": files[".mjs"],
        "types": files[".d.mts"],
        "exports": {
            ".": {"types": files[".d.mts"], "default": files[".mjs"]},
            files[".wasm"]: files[".wasm"],
        },
        "files": [file.removeprefix("./") for file in files.values()],
        "engines": {"node": ">=18"},
    }
    return json.dumps(package, indent=2) + "\n"
