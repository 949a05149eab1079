"""`kina-opt` in this process, and how its runs may end."""

from __future__ import annotations

from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NamedTuple

from kina.backend import pipeline
from kina.cli.opt import main

ROOT = Path(__file__).parents[3]
PASSES = (
    *pipeline.INLINE,
    *pipeline.TO_LINALG,
    *pipeline.TO_C,
    *pipeline.SMALL_FLOATS,
    *pipeline.SCHEDULE,
    "canonicalize",
    "cse",
)


class Done(NamedTuple):
    """How a run ended."""

    status: object
    output: str
    errors: str


def opt(*words: str | Path) -> Done:
    """Run it here; everything but an exit is a failure."""
    output, errors, status = StringIO(), StringIO(), 0
    with redirect_stdout(output), redirect_stderr(errors):
        try:
            main([str(word) for word in words])
        except SystemExit as leaving:
            status = leaving.code
    return Done(status, output.getvalue(), errors.getvalue())


def opt_text(folder: Path, text: str | bytes, *words: str) -> Done:
    path = folder / "t.mlir"
    path.write_bytes(text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text)
    return opt(path, *words)


def fails(done: Done, *parts: str) -> None:
    assert done.status == 1, done
    assert not done.output
    said = [line for line in done.errors.splitlines() if not line.startswith("  ")]
    assert "\n".join(said).count("error: ") == 1, done.errors
    assert "Traceback" not in done.errors
    for part in parts:
        assert part in done.errors


def is_read_back(folder: Path, text: str) -> None:
    """The same module; a few operations of schedule-cpu are printed generically only once."""
    again = opt_text(folder, text)
    assert (again.status, again.errors) == (0, "")
    if again.output != text:
        assert again.output.count("\n") == text.count("\n")
        assert opt_text(folder, again.output) == again
