"""`%%kina`: a cell is a program, and its functions are there for the cells below it.

Loads nothing of IPython: it is given the shell that asks for it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, Protocol

from kina.backend.options import Options
from kina.errors import Diagnostic, KinaError, KinaValueError, render_all
from kina.frontend.source import Source
from kina.runtime.loading import load_source

CELL = "cell"
"""What stands for the file in messages. No number: the same program is then found in the cache."""


class Shell(Protocol):
    """What is needed of IPython's shell."""

    def register_magic_function(
        self, func: Callable[[str, str], None], magic_kind: str, magic_name: str
    ) -> None:
        """Make a function a command of cells."""
        ...

    def push(self, variables: dict[str, object]) -> None:
        """Put names into the notebook."""
        ...


def register(shell: Shell) -> None:
    """Teach `shell` the magic."""

    def kina(line: str, cell: str) -> None:
        """Compile the cell and put its functions into the notebook.

        `%%kina [--as MODULE] [--target TARGET] [--no-threads] [--plain]`
        """
        try:
            shell.push(_compiled(line, cell))
        except KinaError as error:
            raise _without_traceback(error) from None

    shell.register_magic_function(kina, "cell", "kina")


def _compiled(line: str, cell: str) -> dict[str, object]:
    """What a cell defines."""
    options = _PARSER.parse_args(line.split())
    # The magic's own line is the first one that the user counts.
    source = Source(CELL, "\n" + cell)
    # What it imports lies in the notebook's folder.
    source.path = Path(CELL)
    compiled = Options(options.target, options.threads, fast=not options.plain)
    module = load_source(source, compiled, warn=_warn)
    names: dict[str, object] = {name: module[name] for name in module}
    return {**names, options.module: module} if options.module else names


def _warn(found: Sequence[Diagnostic]) -> None:
    if found:
        print(render_all(found), file=sys.stderr)


class _Parser(argparse.ArgumentParser):
    """Raises where argparse would end the process."""

    def error(self, message: str) -> NoReturn:
        """Refuse the line."""
        raise KinaValueError(f"%%kina: {message}; {self.format_usage().strip()}")


_PARSER = _Parser(prog="%%kina", add_help=False, allow_abbrev=False)
_PARSER.add_argument("--as", dest="module", metavar="MODULE", default="")
_PARSER.add_argument("--target", default="native")
_PARSER.add_argument("--no-threads", dest="threads", action="store_false")
_PARSER.add_argument("--plain", action="store_true")


class _Shown(KinaError):
    """An error that IPython shows as its diagnostics alone."""

    def _render_traceback_(self) -> list[str]:
        return render_all(self.diagnostics).splitlines()


def _without_traceback(error: KinaError) -> KinaError:
    """The same error, of a class that is shown without Kina's own frames."""
    kind = type(error)
    shown = type(kind.__name__, (_Shown, kind), {"__module__": kind.__module__})
    return shown(*error.diagnostics)
