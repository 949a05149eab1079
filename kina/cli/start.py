"""Where the commands start: Ctrl-C ends them quietly with 130 from here on, imports included.

Importing what a command needs takes a few tenths of a second, in which Python would answer Ctrl-C
with a traceback. Nothing is open then, so the process leaves at once. While a command runs, it is
an exception as usual, so that temporary files go and tools are stopped.
"""

from __future__ import annotations

import os
import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

INTERRUPTED = 130
"""The exit status that shells give to what Ctrl-C ended."""


def kina() -> None:
    """The command `kina`."""
    _start("kina.cli.main")


def kina_opt() -> None:
    """The command `kina-opt`."""
    _start("kina.cli.opt")


def _start(module: str) -> None:
    # A shell's background jobs ignore the signal, and have to go on doing so.
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        import_module(module).main()
        return
    signal.signal(signal.SIGINT, _leave)
    sys.unraisablehook = _leave_or_report
    main = import_module(module).main
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        main()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    finally:
        signal.signal(signal.SIGINT, _leave)


def _leave(*_: object) -> None:
    os._exit(INTERRUPTED)


def _leave_or_report(unraisable: UnraisableHookArgs) -> None:
    """Ctrl-C in a callback, of which Python would print a traceback and then go on."""
    if issubclass(unraisable.exc_type, KeyboardInterrupt):
        _leave()
    sys.__unraisablehook__(unraisable)
