"""What hostile input is given to, and what must never come of it.

A target takes bytes. Whatever they are, it ends within a second, in 500 MB, and in a result or in
diagnostics; anything else is a `Finding`.
"""

from __future__ import annotations

import contextlib
import io
import os
import resource
import signal
import tempfile
import time
import traceback
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import kina
from kina.cli.opt import KinaOptMain
from kina.cli.opt import main as kina_opt
from kina.errors import KinaError, render_all
from kina.frontend.check import check
from kina.frontend.formatting.program import format_program
from kina.frontend.irgen import generate
from kina.frontend.source import Source
from kina.lsp.analysis import analyse

SECONDS = 1.0
"""Of one thread's CPU time, so that a busy machine changes nothing."""
MEGABYTES = 500

Target = Callable[[bytes], object]


@dataclass(frozen=True)
class Finding(Exception):
    """An input that did what none may do."""

    what: str
    """The exception and where it was raised, or which limit was passed."""
    details: str


_STATUS = Path("/proc/self/status")
_PACKAGE = str(Path(kina.__file__).parent)


class _HangError(BaseException):
    """Raised in whatever runs for too long; nothing catches it on its way."""


def front_end(data: bytes) -> None:
    """`kina check`, `kina fmt` and the language server."""
    try:
        source = Source.decode("fuzz.kina", data)
    except KinaError as error:
        _told(error)
        return
    analyse(source)
    try:
        format_program(source)
    except KinaError as error:
        _told(error)
    try:
        program = check(source)
    except KinaError as error:
        _told(error)
        return
    generate(program).verify()
    formatted = Source("fuzz.kina", format_program(source))
    assert format_program(formatted) == formatted.text
    assert check(formatted).signatures == program.signatures


def _told(error: KinaError) -> None:
    assert render_all(error.diagnostics).strip()


PIPELINES = (
    ("mlir", ""),
    ("kina", "lower-kina"),
    ("mlir", "lower-kina"),
    ("mlir", "specialise-sizes,inline-calls,transform-ad,simplify-kina,decompose-kina"),
    ("mlir", "export-c,check-sizes,assert-to-status"),
    ("mlir", "expand-math,expand-small-floats,expand-fma"),
    ("mlir", "schedule-cpu"),
    ("mlir", "allocate-temporaries"),
)
"""What the first byte of an input chooses: the front end, and the passes."""


def optimiser(data: bytes) -> None:
    """`kina-opt`: reading, the verifiers, the passes and printing."""
    extension, passes = PIPELINES[data[0] % len(PIPELINES)] if data else PIPELINES[0]
    with tempfile.TemporaryDirectory(dir=_memory()) as folder:
        file = Path(folder) / f"fuzz.{extension}"
        file.write_bytes(data[1:])
        words = [str(file), *(["--pass", passes] if passes else []), "-o", os.devnull]
        with _silence() as errors:
            status = _status(words)
        said = errors.getvalue()
        assert status in (0, 1), status
        assert said.strip() or not status, "fails and says nothing"
        assert "Traceback (most recent call last)" not in said


def _status(words: list[str]) -> object:
    try:
        kina_opt(words)
    except SystemExit as leaving:
        return leaving.code
    return 0


def _memory() -> str | None:
    """A folder that lies in memory, where there is one."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


@contextlib.contextmanager
def _silence() -> Generator[io.StringIO]:
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
        yield errors


TARGETS: dict[str, Target] = {"front": front_end, "opt": optimiser}


def tried(target: Target, data: bytes, seconds: float = SECONDS) -> None:
    """Give `data` to a target; raises `Finding` if anything comes of it that must not."""
    before = _peak()
    try:
        with _limited(seconds):
            target(data)
    except _HangError as error:
        raise Finding(f"hangs in {_where(error)}", traceback.format_exc()) from None
    except Exception as error:
        raise Finding(
            f"{type(error).__name__} in {_where(error)}", traceback.format_exc()
        ) from None
    after = _peak()
    if after > MEGABYTES > 0 and after - before > 1:
        raise Finding(f"takes {after:.0f} MB", "")


def _peak() -> float:
    """The largest resident size so far, in megabytes."""
    if not _STATUS.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    # Not ru_maxrss, which a process has from its parent: 600 MB there hide what is taken here.
    lines = _STATUS.read_text(encoding="ascii", errors="replace").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


@contextlib.contextmanager
def _limited(seconds: float) -> Generator[None]:
    def stop(_signal: int, _frame: FrameType | None) -> None:
        raise _HangError

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    start = time.process_time()
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    if time.process_time() - start > seconds:  # in C code that let no signal through
        raise _HangError


def _where(error: BaseException) -> str:
    """The innermost place within Kina; else the innermost of all."""
    frames = traceback.extract_tb(error.__traceback__)
    others = [frame for frame in frames if frame.filename != __file__]
    own = [frame for frame in others if frame.filename.startswith(_PACKAGE)]
    frame = (own or others or frames)[-1]
    return f"{Path(frame.filename).name}:{frame.name}"


def warm_up() -> None:
    """Load everything, so that no input is charged for it."""
    front_end(b"let f = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> { x.softmax(axis=0) }")
    KinaOptMain("", [os.devnull])
    for number, (extension, _) in enumerate(PIPELINES):
        text = b"let f = fn(x: tensor<F32, [2]>) -> tensor<F32, [2]> { x.softmax(axis=0) }"
        optimiser(bytes([number]) + (text if extension == "kina" else b"module {}"))
