"""`kina-opt`: xDSL's optimiser driver with the kina dialect, passes and front end.

Everything `xdsl-opt` takes works; `--pass` is a second spelling of `--passes`. A user's mistake
prints one diagnostic and exits with 1; the traceback shows with `KINA_DEBUG=1`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from xdsl.utils.exceptions import (
    ArgSpecParseError,
    DiagnosticException,
    InvalidIRException,
    ParseError,
    UnregisteredConstructException,
)
from xdsl.xdsl_opt_main import xDSLOptMain

from kina.cli.garbage import seldom_collect
from kina.errors import Diagnostic, KinaError
from kina.frontend.xdsl_frontend import ProgramError

_USER_MISTAKES = (
    KinaError,
    ArgSpecParseError,
    DiagnosticException,
    InvalidIRException,
    ParseError,
    UnregisteredConstructException,
    OSError,
    ValueError,
)


class KinaOptMain(xDSLOptMain):
    """xDSL's driver; the universe entry point has registered Kina already."""

    version_format = "kina-opt built from xdsl version {xdsl_version}"

    def register_all_arguments(self, arg_parser: argparse.ArgumentParser) -> None:
        """Add `--pass` to xDSL's own options."""
        super().register_all_arguments(arg_parser)
        arg_parser.add_argument(
            "--pass", dest="passes", default="", help="the same as --passes", metavar="PASSES"
        )


def main(args: Sequence[str] | None = None) -> None:
    """Run `kina-opt` with `args` (default: the command line)."""
    if args is None:
        seldom_collect()
    try:
        KinaOptMain("Kina modular optimizer driver", args).run()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except _USER_MISTAKES as error:
        if os.environ.get("KINA_DEBUG") == "1":
            raise
        print(_render(error), file=sys.stderr)
        sys.exit(1)


def _render(error: BaseException) -> str:
    """The error as one diagnostic, or all of a program's."""
    if isinstance(error, ProgramError):
        error = error.problem
    if isinstance(error, KinaError):
        return "\n".join(diagnostic.render() for diagnostic in error.diagnostics)
    if isinstance(error, OSError) and error.filename is not None:
        return Diagnostic(f"{error.filename}: {error.strerror}").render()
    return "\n".join([f"error: {error}", *getattr(error, "__notes__", [])])


if __name__ == "__main__":
    main()
