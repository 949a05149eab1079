"""C parts of libraries, and libraries of objects, by the machine's own C compiler or by zig."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from kina.backend import scratch, zig
from kina.backend.activity import Step, unwatched
from kina.backend.linkers import C_FLAGS, OWN_ATOMICS, linker
from kina.backend.targets import Target
from kina.backend.toolchain import AR, OBJCOPY, ZIG, run

# No start-up files: some compilers' switch the whole process to flush-to-zero. Bsymbolic: two
# libraries with functions of one name must not see each other's. Code and constants share pages:
# a library of 10 KB would otherwise have 8 KB of padding, and another page for the few words that
# could be made read-only again after loading.
_LINK_FLAGS = {
    "linux": (
        "-shared",
        "-nostartfiles",
        "-pthread",
        "-Wl,--as-needed",
        "-Wl,-z,defs",
        "-Wl,-z,noexecstack",
        "-Wl,-z,noseparate-code",
        "-Wl,-z,norelro",
        "-Wl,-Bsymbolic",
    ),
    "darwin": ("-dynamiclib", "-Wl,-undefined,error"),
}
_C_MACHINE_FLAGS = {"x86_64": ("-march=x86-64",), "aarch64": (OWN_ATOMICS,)}


def compile_c(
    source: Path, path: Path, target: Target, macros: Mapping[str, str], step: Step = unwatched
) -> None:
    """Compile a C file of Kina's to an object for the machine of `target`."""
    defined = [f"-D{name}={value}" for name, value in macros.items()]
    if (tool := linker(target)) is ZIG:
        zig.compile_c(source, path, target, defined, step)
        return
    flags = (*C_FLAGS, "-fPIC", *_C_MACHINE_FLAGS.get(target.machine, ()), *defined)
    run(tool, [*flags, "-c", "-o", path, source], step=step)


def link(
    inputs: Sequence[Path],
    path: Path,
    target: Target,
    exported: Sequence[str] = (),
    soname: str = "",
    step: Step = unwatched,
) -> None:
    """Link objects to a library that depends on libc at most.

    `exported` are its functions, for systems that must be told.
    """
    if (tool := linker(target)) is ZIG:
        zig.link(inputs, path, target, exported, soname, step)
        return
    flags = [*_LINK_FLAGS[sys.platform], *_named(soname)]
    run(tool, [*flags, "-o", path, *inputs], step=step)


def merge(inputs: Sequence[Path], path: Path, target: Target, step: Step = unwatched) -> None:
    """Make one object file of several, or a static library of that one.

    What they share among themselves becomes local: two such files can meet in one program.
    """
    with scratch.folder() as folder:
        merged, local = folder / "merged.o", folder / "kina.o"
        if (tool := linker(target)) is ZIG:
            zig.merge(inputs, merged, step)
        else:
            run(tool, ["-r", "-nostdlib", "-o", merged, *inputs], step=step)
        run(OBJCOPY, ["--localize-hidden", merged, local], step=step)
        if path.suffix == ".a":
            run(AR, ["rcsD", path, local], step=step)
        else:
            shutil.copyfile(local, path)


def _named(soname: str) -> list[str]:
    """One argument each, since a name may have a comma."""
    if not soname:
        return []
    words = ("-install_name", f"@rpath/{soname}") if sys.platform == "darwin" else ("-h", soname)
    return [part for word in words for part in ("-Xlinker", word)]
