"""`kina explore`: a program through the compiler, as one page."""

from __future__ import annotations

from pathlib import Path

from kina.backend.options import Options
from kina.cli.files import check_replaceable, check_writable, write
from kina.cli.programs import is_stdin, read_program
from kina.cli.progress import compiling
from kina.errors import KinaValueError
from kina.explore.page import page
from kina.explore.stages import stages


def explore_program(file: Path, output: Path | None, options: Options) -> None:
    """Write the page of `file` to `output`, at once or not at all."""
    if output is None and is_stdin(file):
        raise KinaValueError("a program from the standard input has no name: give -o PAGE.html")
    path = output or Path(file.name).with_suffix(".html")
    check_writable(path)
    check_replaceable(path, None if is_stdin(file) else file)
    source = read_program(file)
    with compiling(file) as activity:
        made = stages(source, options, activity.step)
    write(path, page(made).encode(), 0o644)
    lines = " + ".join(f"{len(pane.lines)} of {pane.title}" for pane in made.panes)
    print(f"wrote {path} ({path.stat().st_size} bytes; lines: {lines})")
