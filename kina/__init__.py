"""Kina: a small statically typed tensor language for losses and decoders.

    import kina
    m = kina.load("examples/storylm0_nll.kina")
    loss = m.nll(logits, targets)

Everything here is loaded at first use, so that importing Kina costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kina.lazy import LazyTable

if TYPE_CHECKING:
    from kina.errors import (
        KinaError,
        KinaIndexError,
        KinaSyntaxError,
        KinaToolchainError,
        KinaTypeError,
        KinaValueError,
        KinaWarning,
    )
    from kina.notebook.magic import Shell
    from kina.runtime.loading import compile, load
    from kina.runtime.module import Function, Module
    from kina.runtime.threads import set_num_threads

__all__ = [
    "Function",
    "KinaError",
    "KinaIndexError",
    "KinaSyntaxError",
    "KinaToolchainError",
    "KinaTypeError",
    "KinaValueError",
    "KinaWarning",
    "Module",
    "compile",
    "load",
    "set_num_threads",
]

__version__ = "0.1.0"

_PUBLIC: LazyTable[object] = LazyTable(
    "kina",
    {
        **{name: f"errors.{name}" for name in __all__ if name.endswith(("Error", "Warning"))},
        "compile": "runtime.loading.compile",
        "load": "runtime.loading.load",
        "Function": "runtime.module.Function",
        "Module": "runtime.module.Module",
        "set_num_threads": "runtime.threads.set_num_threads",
    },
)


def __getattr__(name: str) -> object:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'kina' has no attribute '{name}'")
    value = _PUBLIC[name]
    globals()[name] = value
    return value


def load_ipython_extension(shell: Shell) -> None:
    """What `%load_ext kina` calls: cells that begin with `%%kina` are programs."""
    from kina.notebook.magic import register

    register(shell)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
