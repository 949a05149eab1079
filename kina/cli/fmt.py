"""`kina fmt`: programs in the one layout."""

from __future__ import annotations

import stat
import sys
from collections.abc import Sequence
from pathlib import Path

from kina.cli.files import write
from kina.cli.programs import read_program
from kina.cli.streams import report
from kina.errors import KinaError, KinaValueError, render_all
from kina.frontend.formatting.program import format_program
from kina.frontend.source import Source


def format_files(names: Sequence[str], *, check: bool) -> int:
    """Lay out each program anew, or only say which are not; 1 if one is not or cannot be read."""
    if names.count("-") > 1:
        raise KinaValueError("`-` is given twice: the standard input holds one program")
    if "" in names:  # as a path it would be the current folder
        raise KinaValueError("the path of a program is empty, expected that of a .kina file")
    return max([0, *(_format(path, check=check) for path in _programs(list(map(Path, names))))])


def _programs(paths: Sequence[Path]) -> list[Path]:
    """The files, and for a folder all programs below it; each once."""
    found: dict[Path, None] = {}
    for path in paths:
        if not path.is_dir():
            found[path] = None
            continue
        below = sorted(file for file in path.rglob("*.kina") if not _hidden(file, path))
        if not below:
            raise KinaValueError(f"{path}: no .kina file in this folder or below it")
        found.update(dict.fromkeys(below))
    return list(found)


def _hidden(file: Path, folder: Path) -> bool:
    """Whether a file is in a folder such as .venv."""
    return any(part.startswith(".") for part in file.relative_to(folder).parts)


def _format(path: Path, *, check: bool) -> int:
    try:
        source = read_program(path)
        text = format_program(source)
        written = _write(path, source, text, check=check)
    except KinaError as error:
        report(render_all(error.diagnostics))
        return 1
    return int(check and written)


def _write(path: Path, source: Source, text: str, *, check: bool) -> bool:
    """Whether the layout is another one; unless `check`, it is that of the file then."""
    stdin = source.path is None
    if stdin and not check:
        sys.stdout.write(text)
        return False
    old = source.text if stdin else path.read_bytes().decode()
    if old == text:
        return False
    if check:
        print(f"{source.name}: would be laid out anew")
        return True
    # A link stays one: what it leads to is written.
    target = path.resolve()
    write(target, text.encode(), stat.S_IMODE(target.stat().st_mode))
    print(f"{source.name}: laid out anew")
    return True
