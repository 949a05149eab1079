"""Opens shared libraries and makes their functions callable, through cffi's C core.

The core makes C types by itself, so neither cffi's Python half nor a C compiler is needed. They are
not parsed from text: its parser gives up at some four hundred parameters. A call releases the GIL.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any
from weakref import WeakSet

from kina.backend.metadata import CompiledFunction
from kina.errors import Diagnostic, KinaValueError, Note

_CORE: Any = import_module("_cffi_backend")
_FFI: Any = _CORE.FFI()

from_buffer: Callable[..., Any] = _FFI.from_buffer
"""`from_buffer(array)`: the bytes of an array as a C array, which keeps the array alive."""

CHARS: Any = _FFI.typeof("char *")
from_buffer_as: Callable[..., Any] = _CORE.from_buffer
"""`from_buffer_as(CHARS, array)`: the same as a pointer, from which others can be subtracted."""

_STATUS: Any = _CORE.new_primitive_type("int32_t")
_SIZE: Any = _CORE.new_primitive_type("int64_t")
_POINTER: Any = _CORE.new_pointer_type(_CORE.new_void_type())
_SET_THREADS: Any = _FFI.typeof("int32_t (*)(int32_t)")

_open: WeakSet[Library] = WeakSet()


class UnusableLibraryError(KinaValueError):
    """A file that cannot be loaded, or that is not the library that it should be."""

    def __init__(self, path: Path, reason: object) -> None:
        note = Note("KINA_CACHE chooses another folder for compiled programs")
        super().__init__(Diagnostic(f"{path}: cannot load the library: {reason}", notes=(note,)))


class Library:
    """An open shared library; its names stay its own (`RTLD_LOCAL`).

    `set_threads` is its function that sets how many threads it uses, if it uses any.
    """

    asked_for = 0
    """How many threads libraries are told to use when they are opened; 0 leaves it to them."""

    def __init__(self, path: Path, set_threads: str | None = None) -> None:
        flags = _FFI.RTLD_NOW | _FFI.RTLD_LOCAL
        try:
            self._handle: Any = _CORE.load_library(str(path), flags)
        except OSError as error:
            raise UnusableLibraryError(path, error) from None
        self.path = path
        self._set_threads = self._find(_SET_THREADS, set_threads) if set_threads else None
        if Library.asked_for:
            self.set_threads(Library.asked_for)
        _open.add(self)

    def function(self, compiled: CompiledFunction) -> Callable[..., int]:
        """The C function behind `compiled`; the library must outlive it."""
        return self._find(c_type(compiled), compiled.symbol)

    def _find(self, kind: Any, symbol: str) -> Callable[..., int]:
        """A function of the library; one without it is closed."""
        try:
            return self._handle.load_function(kind, symbol)
        except AttributeError:
            _open.discard(self)
            self._handle.close_lib()
            raise UnusableLibraryError(self.path, f"it has no function '{symbol}'") from None

    def set_threads(self, count: int) -> int:
        """Let calls use up to so many threads, for 0 what the library thinks best; says how many.

        A library without threads always uses one.
        """
        return 1 if self._set_threads is None else self._set_threads(count)


def set_threads(count: int) -> int:
    """Set it for every library, open or opened later; says the most that one of them uses."""
    Library.asked_for = count
    return max((library.set_threads(count) for library in list(_open)), default=1)


def c_type(compiled: CompiledFunction) -> Any:
    """The C type of a pointer to the function: symbols, inputs, outputs.

    Pointers are void here, so that cffi has no element types to compare at each call.
    """
    signature = compiled.signature
    pointers = len(signature.parameters) + len(signature.results)
    arguments = (_SIZE,) * len(signature.symbols) + (_POINTER,) * pointers
    return _CORE.new_function_type(arguments, _STATUS)
