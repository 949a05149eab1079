"""`kina check`: the front end alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kina.cli.programs import read_program
from kina.cli.streams import report
from kina.cli.warning import WarningMode, show
from kina.errors import KinaError, KinaValueError, render_all
from kina.frontend.check import check
from kina.types import is_private


def check_files(files: Sequence[Path], mode: WarningMode) -> int:
    """Print each program's errors or its functions' types; 1 if any has errors."""
    if list(map(str, files)).count("-") > 1:
        raise KinaValueError("`-` is given twice: the standard input holds one program")
    return max([_check_file(file, mode) for file in files])


def _check_file(file: Path, mode: WarningMode) -> int:
    try:
        source = read_program(file)
        program = check(source)
        show(program.warnings, mode)
    except KinaError as error:
        report(render_all(error.diagnostics))
        return 1
    print(f"{source.name}: ok")
    own = {n: s for n, s in program.signatures.items() if program.own is None or n in program.own}
    for name, signature in own.items():
        print(f"  {signature}{'  (private)' if is_private(name) else ''}")
    return 0
