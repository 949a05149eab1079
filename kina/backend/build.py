"""From source text to a compiled program: the one way in for the runtime and the command line.

What is in the cache needs none of the compiler, so none of it is imported here.
"""

from __future__ import annotations

from collections.abc import Callable

from kina.backend import cache
from kina.backend.activity import Activity
from kina.backend.cache import Artifact
from kina.backend.options import Options
from kina.frontend.imports import link
from kina.frontend.source import Source

NATIVE = Options()


def _nothing() -> None:
    pass


def build(
    source: Source,
    options: Options = NATIVE,
    meanwhile: Callable[[], object] = _nothing,
    activity: Activity | None = None,
) -> Artifact:
    """The compiled program, from the cache if it is there.

    If it is not, `meanwhile` is called once, while the tools run; `activity` is told what runs.
    Raises `KinaSyntaxError`, `KinaTypeError` for a wrong program, `KinaToolchainError` for a
    missing or failing tool.
    """
    source = link(source)
    *imported, (_, own) = source.parts
    others = [(file.name, file.text) for _, file in imported]
    name = cache.key(own.name, own.text, options, others)
    found = cache.lookup(name)
    if found is not None:
        return found
    from kina.backend.compilation import compile_program

    watched = activity or Activity()
    return cache.store(
        name, lambda folder: compile_program(source, options, folder, meanwhile, watched)
    )
