"""Names of exported functions in C: which are taken, and how to keep clear of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from kina.backend.options import DEFAULT_PREFIX
from kina.errors import Diagnostic, KinaValueError, Note, Span

# Words of C23 and C++23, types that headers define, and macros that compilers define themselves.
_WORDS_TEXT = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
    char32_t class co_await co_return co_yield compl concept const const_cast consteval constexpr
    constinit continue decltype default delete do double dynamic_cast else enum explicit export
    extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
    nullptr operator or or_eq private protected public register reinterpret_cast requires restrict
    return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using
    virtual void volatile wchar_t while xor xor_eq
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t linux unix i386
"""
_WORDS = frozenset(_WORDS_TEXT.split())
_LIBRARY = Path(__file__).with_name("c_library.txt")

_FAMILIES = ("pthread_", "omp_", "kmp_", "GOMP_", "llvm", "mlir", "memrefCopy")
"""How the names of other runtimes start."""


def distinct(names: Iterable[str]) -> list[str]:
    """The names with a trailing `_`, or several, where one was there before."""
    taken: set[str] = set()
    result: list[str] = []
    for name in names:
        while name in taken:
            name += "_"
        taken.add(name)
        result.append(name)
    return result


def check_symbols(places: Mapping[str, Span], prefix: str) -> None:
    """Raise `KinaValueError` if exported names belong to C, its library or a runtime.

    A program that loads such a function would call it in place of the one that it means. `places`
    says where each function has its name.
    """
    if prefix == DEFAULT_PREFIX:
        return
    owners = {name: _owner(prefix + name) for name in places}
    taken = {name: owner for name, owner in owners.items() if owner}
    if taken:
        note = Note(f"choose another --prefix; the default is '{DEFAULT_PREFIX}'")
        raise KinaValueError(
            *(
                Diagnostic(
                    f"with the prefix '{prefix}' the function `{name}` is called '{prefix}{name}', "
                    f"which {owner}",
                    places[name],
                    (note,),
                )
                for name, owner in taken.items()
            )
        )


def is_taken(name: str) -> bool:
    """Whether C or its library may have given a meaning to a name, such as that of a macro."""
    return name.startswith("_") or _owner(name) is not None


def _owner(symbol: str) -> str | None:
    """Who has taken a name; None if it is free."""
    if symbol in _WORDS:
        return "is a word of C or C++"
    if symbol in _library():
        return "is a name of the C library"
    if symbol.startswith(_FAMILIES):
        return "is a name of another runtime"
    return None


@lru_cache
def _library() -> frozenset[str]:
    """What libc, libm and their headers define; `tools/c_library_names.py` collects it."""
    return frozenset(_LIBRARY.read_text(encoding="utf-8").split())
