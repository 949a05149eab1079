"""What programs for Windows are linked with to use a library there."""

from __future__ import annotations

from collections.abc import Sequence

from kina.backend import scratch
from kina.backend.toolchain import DLLTOOL, run


def import_library(library: str, functions: Sequence[str]) -> bytes:
    """An import library of a `.dll` of this name, with these functions."""
    with scratch.folder() as folder:
        listed, made = folder / "exports.def", folder / "import.lib"
        lines = [f'LIBRARY "{library}"', "EXPORTS", *functions]
        scratch.write(listed, "\n".join(lines) + "\n")
        run(DLLTOOL, ["-m", "i386:x86-64", "-d", listed, "-l", made])
        return made.read_bytes()
