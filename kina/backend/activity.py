"""What a compilation is busy with, for whoever waits for it."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from threading import Lock

Step = Callable[[str], AbstractContextManager[object]]
"""Says that something runs, by its name, for as long as the context lasts."""


class Activity:
    """The steps that run now; several threads of one compilation share it."""

    def __init__(self) -> None:
        self._steps: dict[object, str] = {}
        self._lock = Lock()

    @contextmanager
    def step(self, what: str) -> Generator[None]:
        """`what` runs until the context is left."""
        key = object()
        with self._lock:
            self._steps[key] = what
        try:
            yield
        finally:
            with self._lock:
                del self._steps[key]

    def parts(self, count: int) -> list[Step]:
        """For each of so many parts, what says which one a step belongs to."""
        if count == 1:
            return [self.step]
        return [self._of(f" (part {number} of {count})") for number in range(1, count + 1)]

    def _of(self, part: str) -> Step:
        return lambda what: self.step(what + part)

    def __str__(self) -> str:
        """The steps that run, in the order in which they began."""
        with self._lock:
            return ", ".join(self._steps.values())


def unwatched(what: str) -> AbstractContextManager[object]:
    """A step that nobody waits for."""
    return Activity().step(what)
