"""`kina check`: the front end alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kina.cli.json_report import SCHEMA, file_report
from kina.cli.programs import is_stdin, read_program
from kina.cli.streams import STDIN, report
from kina.cli.warning import WarningMode, chosen, show
from kina.errors import Diagnostic, KinaError, KinaValueError, render_all
from kina.frontend.check import check
from kina.frontend.typed import TypedProgram
from kina.types import is_private


def check_files(files: Sequence[Path], mode: WarningMode, *, as_json: bool = False) -> int:
    """Print each program's errors or its functions' types; 1 if any has errors."""
    if list(map(str, files)).count("-") > 1:
        raise KinaValueError("`-` is given twice: the standard input holds one program")
    if as_json:
        return _print_json(files, mode)
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
    for name, signature in program.own_signatures.items():
        print(f"  {signature}{'  (private)' if is_private(name) else ''}")
    return 0


def _print_json(files: Sequence[Path], mode: WarningMode) -> int:
    reports: list[dict[str, Any]] = []
    for file in files:
        name = STDIN if is_stdin(file) else str(file)
        program, diagnostics = _found(file, mode)
        reports.append(file_report(name, program, diagnostics))
    print(json.dumps({"schema": SCHEMA, "files": reports}, ensure_ascii=False))
    return int(not all(each["ok"] for each in reports))


def _found(file: Path, mode: WarningMode) -> tuple[TypedProgram | None, tuple[Diagnostic, ...]]:
    try:
        program = check(read_program(file))
        return program, chosen(program.warnings, mode)
    except KinaError as error:
        return None, error.diagnostics
