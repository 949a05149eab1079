"""`kina.load` and `kina.compile`: from a program's text to a `Module`.

NumPy and the rest of the runtime are imported after the program is compiled, in fact while the
tools run: they take a tenth of a second to import.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from importlib import import_module
from typing import TYPE_CHECKING

from kina.backend.activity import Activity
from kina.backend.build import build
from kina.backend.cache import Artifact, discard
from kina.backend.cache_folder import check_loadable
from kina.backend.options import Options
from kina.backend.targets import check_loadable as check_target_loadable
from kina.errors import Diagnostic, KinaError, KinaTypeError, KinaValueError, KinaWarning, Note
from kina.frontend.imports import Stored, restored
from kina.frontend.source import Source

if TYPE_CHECKING:
    from kina.runtime.library import UnusableLibraryError
    from kina.runtime.module import Function, Module

_RUNTIME = "kina.runtime.module"


def load(
    path: str | os.PathLike[str],
    *,
    target: str = "native",
    threads: bool = True,
    fast: bool = True,
) -> Module:
    """Compile the program in the file `path`, or take it from the cache.

    `fast=False` makes plain loops in the form of the specification, to compare with.

    Raises `KinaSyntaxError` and `KinaTypeError` with every error of the program, `KinaValueError`
    for a file that cannot be read, `KinaToolchainError` if a compiler tool is missing,
    `KinaTypeError` for an argument of the wrong type. Warns with `KinaWarning` of what compiles
    and may not be meant.
    """
    if isinstance(path, bytes) or not (isinstance(path, str) or hasattr(path, "__fspath__")):
        came = type(path).__name__
        raise KinaTypeError(
            f"load: the path is a {came}, expected a str or a pathlib.Path; "
            "kina.compile takes a program as text"
        )
    return load_source(Source.read(path), Options(target, threads, fast=fast), warn=_warn)


def compile(
    text: str,
    *,
    name: str = "<string>",
    target: str = "native",
    threads: bool = True,
    fast: bool = True,
) -> Module:
    """Compile a program given as text; `name` stands for the file in messages. Errors as `load`."""
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise KinaTypeError(
            f"compile: the program is a {type(text).__name__}, expected its text (a str); "
            "kina.load takes the path of a file"
        )
    if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise KinaTypeError(f"compile: the name is a {type(name).__name__}, expected a str")
    return load_source(Source(name, text), Options(target, threads, fast=fast), warn=_warn)


Warn = Callable[[Sequence[Diagnostic]], object]
"""What becomes of a program's warnings."""


def _warn(found: Sequence[Diagnostic]) -> None:
    for diagnostic in found:
        # The caller of `load` or `compile`, past `load_source`.
        warnings.warn(KinaWarning(diagnostic), stacklevel=4)


def _ignore(_found: Sequence[Diagnostic]) -> None:
    """A worker that unpickles a program is not the place to warn of it once more."""


def load_source(
    source: Source,
    options: Options,
    needed: str = _RUNTIME,
    warn: Warn = _ignore,
    activity: Activity | None = None,
) -> Module:
    """The compiled program; `needed` names a module to import while the tools run."""
    check_target_loadable(options.target)
    check_loadable()
    artifact = build(source, options, partial(import_module, needed), activity)
    warn(artifact.warnings)
    from kina.runtime.library import UnusableLibraryError
    from kina.runtime.module import Module

    try:
        return Module(source, options, artifact)
    except UnusableLibraryError as problem:
        return _rebuilt(source, options, artifact, problem)


def _rebuilt(
    source: Source, options: Options, artifact: Artifact, problem: UnusableLibraryError
) -> Module:
    """The program compiled anew: another system or another program made what the cache holds."""
    from kina.runtime.library import UnusableLibraryError
    from kina.runtime.module import Module

    try:
        discard(artifact)
        return Module(source, options, build(source, options))
    except KinaError as again:
        tried = Note("compiling the program once more did not help; `kina doctor` checks the tools")
        found = problem.diagnostics[0]
        more = () if isinstance(again, UnusableLibraryError) else again.diagnostics
        raise KinaValueError(replace(found, notes=(tried, *found.notes)), *more) from None


@lru_cache(maxsize=64)
def restore(name: str, text: Stored, options: Options) -> Module:
    """The module that a pickle names; a worker's tasks share one."""
    return load_source(restored(name, text), options)


def restore_function(name: str, text: Stored, options: Options, function: str) -> Function:
    """A function of the module that a pickle names."""
    return restore(name, text, options)[function]
