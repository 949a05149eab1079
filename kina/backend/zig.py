"""zig as compiler and linker for every machine: what it is told, one row per system.

It has clang of the LLVM that we use, linkers, and the C libraries of all systems. Libraries for
Windows and WebAssembly are linked without any start-up code: they need a few functions of the
system's C library there, and nothing here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kina.backend import cache_folder, scratch
from kina.backend.activity import Step, unwatched
from kina.backend.import_library import import_library
from kina.backend.linkers import C_FLAGS, OWN_ATOMICS
from kina.backend.targets import LINUX, MACOS, WASM, WINDOWS, Target
from kina.backend.toolchain import ZIG, run
from kina.frozen import frozen

_FOLDER = Path(__file__).parent
_PIC = ("-fPIC",)
_C_MACHINE_FLAGS = {"aarch64": (OWN_ATOMICS,)}


@frozen(slots=True)
class _Link:
    """A library to be made."""

    inputs: Sequence[Path]
    path: Path
    target: Target
    exported: Sequence[str]
    name: str
    """What it is called where it will be."""


Arguments = list[str | Path]


@frozen(slots=True)
class _System:
    """How zig is told of a system."""

    target: str
    """Its target for C, the architecture left open; the C library's version is the oldest."""
    arguments: Callable[[_Link, Path], Arguments]
    """The linker and its arguments; may write files to a folder."""
    c_flags: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    """C files that every library contains."""


def _elf(made: _Link, _folder: Path) -> Arguments:
    named = ["-Xlinker", "-soname", "-Xlinker", made.name] if made.name else []
    flags = ["--as-needed", "-z,defs", "-z,noexecstack", "-z,norelro", "-Bsymbolic"]
    wanted = [f"-Wl,{flag}" for flag in flags]
    return ["cc", *_target(made.target), "-shared", "-pthread", "-s", *wanted, *named, *_out(made)]


def _macho(made: _Link, _folder: Path) -> Arguments:
    name = made.name or made.path.name
    named = ["-Xlinker", "-install_name", "-Xlinker", f"@rpath/{name}"]
    return ["cc", *_target(made.target), "-dynamiclib", "-Wl,-undefined,error", *named, *_out(made)]


_UCRT = ("malloc", "free", "memcpy", "memmove", "memset", "getenv", "strcmp")
"""What a library may need of Windows' C library, which is a part of Windows 10 and later."""


def _coff(made: _Link, folder: Path) -> Arguments:
    ucrt = folder / "ucrtbase.lib"
    ucrt.write_bytes(import_library("ucrtbase.dll", _UCRT))
    # The name that a library has for itself is that of the file.
    placed = folder / (made.name or made.path.name)
    flags = ["-dll", "-noentry", "-machine:x64", "-nodefaultlib", "-noimplib", "-Brepro"]
    exported = [f"-export:{name}" for name in made.exported]
    return ["lld-link", *flags, *exported, f"-out:{placed}", *made.inputs, ucrt]


def _wasm(made: _Link, _folder: Path) -> Arguments:
    exported = [f"--export={name}" for name in ("malloc", "free", *made.exported)]
    flags = ["--no-entry", "-s", "--stack-first", "-z", "stack-size=131072", "--gc-sections"]
    return ["wasm-ld", *flags, *exported, *_out(made)]


def _out(made: _Link) -> Arguments:
    return ["-o", made.path, *made.inputs]


_SYSTEMS: Mapping[str, _System] = {
    LINUX: _System("{}-linux-gnu.{}", _elf, _PIC),
    MACOS: _System("{}-macos.11.0", _macho, _PIC),
    WINDOWS: _System("{}-windows-gnu", _coff, parts=("windows.c",)),
    WASM: _System("{}-freestanding", _wasm, ("-mbulk-memory",), parts=("wasm.c",)),
}
_OLDEST_GLIBC = {"riscv64": "2.27"}


def _target(target: Target) -> list[str]:
    """The words that name a machine, every processor of it."""
    system, machine = _SYSTEMS[target.system.name], target.machine
    named = system.target.format(machine, _OLDEST_GLIBC.get(machine, "2.17"))
    return ["-target", named, "-mcpu=baseline"]


def compile_c(
    source: Path, path: Path, target: Target, macros: Sequence[str], step: Step = unwatched
) -> None:
    """Compile a C file of Kina's to an object for the machine of `target`."""
    more = (*_SYSTEMS[target.system.name].c_flags, *_C_MACHINE_FLAGS.get(target.machine, ()))
    flags = [*_target(target), *C_FLAGS, *more, *macros]
    _run(["cc", *flags, "-c", "-o", path, source], step)


def link(
    inputs: Sequence[Path],
    path: Path,
    target: Target,
    exported: Sequence[str],
    name: str,
    step: Step = unwatched,
) -> None:
    """Link objects to a library that exports these functions."""
    system = _SYSTEMS[target.system.name]
    with scratch.folder() as folder:
        parts = [folder / f"{part}.o" for part in system.parts]
        for part, made in zip(system.parts, parts, strict=True):
            compile_c(_FOLDER / part, made, target, (), step)
        wanted = _Link([*inputs, *parts], path, target, exported, name)
        _run(system.arguments(wanted, folder), step)
        placed = folder / (name or path.name)
        if placed.exists():
            path.write_bytes(placed.read_bytes())


def merge(inputs: Sequence[Path], path: Path, step: Step = unwatched) -> None:
    """Make one object file of several, for Linux."""
    _run(["ld.lld", "-r", "-o", path, *inputs], step)


def _run(arguments: Sequence[str | Path], step: Step) -> None:
    """Run zig; what it keeps of these files goes with the folder, what it keeps for all stays."""
    with scratch.folder() as folder:
        environment = {"ZIG_GLOBAL_CACHE_DIR": _kept(), "ZIG_LOCAL_CACHE_DIR": str(folder)}
        run(ZIG, arguments, step=step, environment=environment)


def _kept() -> str:
    """The folder for what zig makes once for a system, parts of its C library."""
    chosen = os.environ.get("ZIG_GLOBAL_CACHE_DIR")
    return chosen or str(cache_folder.folder() / "zig")
