"""Where the commands start: Ctrl-C ends them quietly with 130 from here on, imports included.

Importing what a command needs takes a few tenths of a second, in which Python would answer Ctrl-C
with a traceback. Nothing is open then, so the process leaves at once. While a command runs, it is
an exception as usual, so that temporary files go and tools are stopped.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

INTERRUPTED = 130
"""The exit status that shells give to what Ctrl-C ended."""


def kina() -> None:
    """The command `kina`."""
    quiet = _leaves_quietly()
    from kina.backend import ahead

    if will_compile(sys.argv[1:]):
        ahead.start()
    try:
        _run("kina.cli.main", quiet)
    finally:
        ahead.stop()


def kina_opt() -> None:
    """The command `kina-opt`."""
    _run("kina.cli.opt", _leaves_quietly())


_COMPILING = frozenset({"run", "build", "bench"})


def will_compile(words: Sequence[str]) -> bool:
    """A guess: the program has changed since anything went into the cache."""
    from kina.backend.cache_folder import for_reading
    from kina.errors import KinaError

    program = next((word for word in words[1:] if word.endswith(".kina")), "")
    if not os.path.isfile(program) or words[0] not in _COMPILING:
        return False
    try:
        cache = for_reading()
        is_empty = not cache.is_dir() or not any(cache.iterdir())
        return is_empty or os.stat(program).st_mtime_ns > cache.stat().st_mtime_ns
    except (OSError, KinaError):
        return False


def _leaves_quietly() -> bool:
    """Makes Ctrl-C end the process at once, unless a shell's background job is to ignore it."""
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return False
    signal.signal(signal.SIGINT, _leave)
    sys.unraisablehook = _leave_or_report
    return True


def _run(module: str, quiet: bool) -> None:
    main = import_module(module).main
    if not quiet:
        main()
        return
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
