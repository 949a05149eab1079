"""A program in memory: its text, what was compiled from it, and its meaning."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kina.backend.build import build
from kina.backend.cache import Artifact
from kina.backend.options import Options
from kina.backend.threads import set_threads_of
from kina.errors import KinaValueError
from kina.frontend.imports import Stored, link, stored
from kina.frontend.source import Source
from kina.runtime.library import Library
from kina.runtime.loading import restore, restore_function

if TYPE_CHECKING:
    from kina.runtime.module import Function, Module


class Program:
    """What the functions of one module share; they keep it, and with it the library, alive."""

    def __init__(self, source: Source, options: Options, artifact: Artifact) -> None:
        self.source = source = link(source)
        self.library = Library(artifact.library, set_threads_of(artifact.functions))
        self._options = options
        self._artifact = artifact

    @cached_property
    def meaning(self) -> Any:
        """The kina IR, a `kina.runtime.meaning.Meaning`, for the reference."""
        from kina.runtime.meaning import Meaning

        try:
            kina_ir = self._artifact.kina_ir.read_text(encoding="utf-8")
        except FileNotFoundError:
            # Somebody emptied the cache since.
            kina_ir = build(self.source, self._options).kina_ir.read_text(encoding="utf-8")
        return Meaning(kina_ir, {file.name: file.lines() for _, file in self.source.parts})

    def mlir(self, stage: str) -> str:
        """The IR at a stage; raises `KinaValueError` for a word that is none."""
        from kina.backend.stages import STAGES, emit

        if stage not in STAGES:
            raise KinaValueError(f"unknown stage '{stage}', expected one of {', '.join(STAGES)}")
        return emit(self.source, stage, self._options)

    def pickled(self) -> tuple[Callable[..., Module], tuple[str, Stored, Options]]:
        """What `pickle` stores for the module."""
        return restore, (self.source.name, stored(self.source), self._options)

    def pickled_function(self, name: str) -> tuple[Callable[..., Function], tuple[Any, ...]]:
        """What `pickle` stores for one of the functions."""
        return restore_function, (self.source.name, stored(self.source), self._options, name)
