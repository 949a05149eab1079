"""Lowering in a process of its own, forked as soon as a command starts.

Loading xDSL takes longer than all that a command does before it needs it, and NumPy is not loaded
quickly either: here one core loads the one and the other core the rest, after what both need. Only
a command forks, when it has loaded nothing else; a program that uses Kina as a library never does.
Where the process does not answer, its work is done here, so that whatever is wrong is found and
reported as usual.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
from collections.abc import Generator, Iterator, Sequence
from functools import cached_property
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO, Protocol, cast

from kina.garbage import seldom_collect

if TYPE_CHECKING:
    from kina.backend.lowered import Lowered
    from kina.backend.options import Options
    from kina.frontend.typed import TypedProgram

_SHARED = (
    "kina.backend.metadata",
    "kina.backend.pipeline",
    "kina.frontend.requirements",
    "kina.rules.infer",
    "tempfile",
)
"""What both processes need: most of it, with what that imports."""
_SILENT = (EOFError, OSError, pickle.PickleError)


class Lowers(Protocol):
    """A typed program on its way through the passes, here or elsewhere."""

    @property
    def kina_ir(self) -> str:
        """The program for the reference; ask for it when all parts are there."""
        ...

    @property
    def count(self) -> int:
        """How many parts there are."""
        ...

    def parts(self, options: Options, targets: Sequence[str]) -> Iterator[Lowered]:
        """The program's parts in order, each when it is lowered, once for each target."""
        ...


def start() -> None:
    """Fork the process, which begins to load what it needs."""
    global _process
    if hasattr(os, "fork"):
        for module in _SHARED:
            import_module(module)
        _process = _Process()


def stop() -> None:
    """End the process if there is one."""
    global _process
    if _process is not None:
        _process.end()
        _process = None


def is_started() -> bool:
    """Whether another process lowers, so that this one has nothing to do meanwhile."""
    return _process is not None


@contextlib.contextmanager
def lowering(program: TypedProgram) -> Generator[Lowers]:
    """`program` on its way, there or here."""
    try:
        yield _here(program) if _process is None else _There(_process, program)
    finally:
        stop()


def _here(program: TypedProgram) -> Lowers:
    from kina.backend.lowering import Lowering

    return Lowering(program)


class _Process:
    """The other process, and the pipes to and from it."""

    def __init__(self) -> None:
        ask, answer = os.pipe(), os.pipe()
        self._id = os.fork()
        if self._id == 0:
            os.close(ask[1])
            os.close(answer[0])
            _live(ask[0], answer[1])
        os.close(ask[0])
        os.close(answer[1])
        self._to, self._from = os.fdopen(ask[1], "wb"), os.fdopen(answer[0], "rb")

    def ask(self, question: object) -> None:
        """Send something; an error of `_SILENT` if nobody is there to read it."""
        _send(self._to, question)

    def answer(self) -> object:
        """What comes back; an error of `_SILENT` if nothing will."""
        return pickle.load(self._from)

    def end(self) -> None:
        """End it, whatever it does."""
        os.kill(self._id, signal.SIGKILL)
        os.waitpid(self._id, 0)
        for pipe in (self._to, self._from):
            with contextlib.suppress(OSError):
                pipe.close()


_process: _Process | None = None


class _There:
    """A program that the other process lowers."""

    def __init__(self, process: _Process, program: TypedProgram) -> None:
        self._process = process
        self._program = program
        with contextlib.suppress(*_SILENT):
            process.ask(program)

    @property
    def kina_ir(self) -> str:
        try:
            return cast(str, self._process.answer())
        except _SILENT:
            return _here(self._program).kina_ir

    @property
    def count(self) -> int:
        return self._count

    @cached_property
    def _count(self) -> int:
        try:
            return cast(int, self._process.answer())
        except _SILENT:
            return _here(self._program).count

    def parts(self, options: Options, targets: Sequence[str]) -> Iterator[Lowered]:
        done, total = 0, self.count * len(targets)
        try:
            self._process.ask((options, targets))
            while done < total:
                yield cast("Lowered", self._process.answer())
                done += 1
        except _SILENT:
            yield from islice(_here(self._program).parts(options, targets), done, None)


def _send(pipe: BinaryIO, what: object) -> None:
    pickle.dump(what, pipe, pickle.HIGHEST_PROTOCOL)
    pipe.flush()


def _live(ask: int, answer: int) -> None:
    """What the other process does; it holds no stream of the command's."""
    try:
        if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        seldom_collect()
        _serve(os.fdopen(ask, "rb"), os.fdopen(answer, "wb"))
    finally:
        os._exit(0)


def _serve(questions: BinaryIO, answers: BinaryIO) -> None:
    from kina.backend.lowering import Lowering, load_passes

    load_passes()
    lowered = Lowering(pickle.load(questions))
    _send(answers, lowered.count)
    for part in lowered.parts(*pickle.load(questions)):
        _send(answers, part)
    # The tools are at work by now.
    _send(answers, lowered.kina_ir)
