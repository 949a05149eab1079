"""Names in C: which are taken, and how to keep clear of them."""

from __future__ import annotations

from collections.abc import Iterable

from kina.errors import Diagnostic, KinaValueError, Note

# Words of C11 and C++17, the types of <stdint.h>, and two macros of GNU C.
_C_TEXT = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t
    class compl const const_cast constexpr continue decltype default delete do double dynamic_cast
    else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast restrict return short signed sizeof static static_assert static_cast struct
    switch template this thread_local throw true try typedef typeid typename typeof union unsigned
    using virtual void volatile wchar_t while xor xor_eq
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t NULL linux unix
"""
_WORDS = frozenset(_C_TEXT.split())

# What compiled code may call in libc and libm: a function of ours so called would take its place.
_LIBC_TEXT = """
    malloc free calloc realloc abort memcpy memmove memset memcmp exp log sqrt expf logf sqrtf fmaf
    fmaxf fminf main
"""
_LIBC = frozenset(_LIBC_TEXT.split())


def distinct(names: Iterable[str]) -> list[str]:
    """The names as C takes them: a word of C, or a name that was there, gets a trailing `_`."""
    taken: set[str] = set()
    result: list[str] = []
    for name in names:
        while name in _WORDS or name in taken:
            name += "_"
        taken.add(name)
        result.append(name)
    return result


def check_symbol(symbol: str, prefix: str) -> None:
    """Raise `KinaValueError` for an exported name that C or libc has taken."""
    if symbol in _WORDS or symbol in _LIBC:
        note = Note("choose another --prefix")
        raise KinaValueError(
            Diagnostic(
                f"with the prefix '{prefix}' a function is called '{symbol}', which C has taken",
                notes=(note,),
            )
        )
