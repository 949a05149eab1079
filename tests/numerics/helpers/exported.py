"""What libraries of every kind export."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from kina.backend.toolchain import OPT, Tool, find, run


def exports(library: Path) -> set[str]:
    """The names that a library exports."""
    return set(_READERS[library.suffix](library))


def _llvm(name: str, *arguments: str | Path) -> str:
    """What one of the tools beside our own prints."""
    return run(Tool(name, (str(find(OPT).path.with_name(name)),)), arguments)


def _elf(library: Path) -> list[str]:
    flags = ["-D", "--defined-only", "--format=just-symbols"]
    return [name.partition("@")[0] for name in _llvm("llvm-nm", *flags, library).split()]


def _macho(library: Path) -> list[str]:
    shown = _llvm("llvm-objdump", "--macho", "--exports-trie", library)
    names = re.findall(r"^0x[0-9A-F]+  _(\S+)$", shown, re.MULTILINE)
    return [name for name in names if name not in _ITSELF]


_ITSELF = ("_mh_dylib_header", "__dso_handle", "_dso_handle")
"""What a linker for macOS gives to every library."""


def _coff(library: Path) -> list[str]:
    shown = _llvm("llvm-readobj", "--coff-exports", library)
    return re.findall(r"^  Name: (\S+)$", shown, re.MULTILINE)


def _wasm(library: Path) -> list[str]:
    data = library.read_bytes()
    at = 8
    while data[at] != 7:  # the section of exports
        length, after = _number(data, at + 1)
        at = after + length
    _, at = _number(data, at + 1)
    return list(_names(data, at))


def _names(data: bytes, at: int) -> Iterator[str]:
    count, at = _number(data, at)
    for _ in range(count):
        length, at = _number(data, at)
        yield data[at : at + length].decode()
        _, at = _number(data, at + length + 1)


def _number(data: bytes, at: int) -> tuple[int, int]:
    """An LEB128 number, and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


_READERS: dict[str, Callable[[Path], list[str]]] = {
    ".so": _elf,
    ".dylib": _macho,
    ".dll": _coff,
    ".wasm": _wasm,
}
